package e2e

// This file owns modules that find no memory when they are loaded.

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// loadOnce loads a module from its file, on this thread.
func loadOnce(t *testing.T, module string) error {
	t.Helper()
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fmt.Sprintf("/lib/modules/%s/updates/%s.ko", unix.ByteSliceToString(uts.Release[:]), module))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return unix.FinitModule(int(f.Fd()), "", 0)
}

// A module that finds no memory for its beginning is not loaded, or works. Faults
// are counted below the kernel's call of its init function.
func TestLoadOutOfMemory(t *testing.T) {
	for module, step := range map[string]int{"rxpost_recv": 11, "rxpost_send": 2} {
		t.Run(module, func(t *testing.T) {
			r := newRig(t)
			all := symbols(t)
			begin, end := functionOf(t, all, "do_one_initcall")
			in := newInjection(t, all, begin, end)
			rmmod(t, module)
			works := 0
			points, noticed := r.walk("load "+module, step, func(n int) (bool, error) {
				return in.own(n, func() error { return loadOnce(t, module) })
			}, func(n int, err error) {
				if err != nil && !errors.Is(err, syscall.ENOMEM) {
					t.Errorf("not an error of memory: %v", err)
				}
				if loaded(module) != (err == nil) {
					t.Errorf("loaded %v, error %v", loaded(module), err)
				}
				if err == nil {
					// Some of them; each takes a while.
					if works++; works%4 == 1 {
						r.reconnect()
						r.works()
					}
					rmmod(t, module)
				}
				r.atBaseline()
			})
			// rxpost_send does without what it does not get; of the other's a sample
			// may be all of that kind.
			if points == 0 || noticed == 0 && module == "rxpost_recv" && !instrumented() {
				t.Errorf("%d allocations failed, %d were noticed", points, noticed)
			}
			modprobe(t, module)
			r.reconnect()
			r.works()
		})
	}
}
