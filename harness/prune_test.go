package harness

// This file owns the tests of what leaves the cache and what must not.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// pruneRig is a cache whose lock file names one kernel.
func pruneRig(t *testing.T) *Fetcher {
	t.Helper()
	return &Fetcher{Cache: testCache(t), Kernels: &Kernels{
		Specs: []KernelSpec{{Name: "6.1", Suites: []string{"a", "b"}}},
		Locks: map[string]KernelLock{"6.1": {Release: "6.1", Version: "1"}},
	}}
}

// shelve makes entries that were last used so long ago.
func (f *Fetcher) shelve(t *testing.T, ago time.Duration, keys ...string) {
	t.Helper()
	for _, key := range keys {
		dir := f.Cache.Path(key)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, time.Now(), time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *Fetcher) pruned(t *testing.T, unused time.Duration) []string {
	t.Helper()
	gone, err := f.Prune(unused)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range gone {
		if p.Bytes < 1 {
			t.Errorf("%s took %d bytes", p.Key, p.Bytes)
		}
		if ok, err := f.Cache.Has(p.Key); ok || err != nil {
			t.Errorf("%s is still there, %v", p.Key, err)
		}
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	return keys
}

func TestPrune(t *testing.T) {
	everything := []string{
		"accel/boot", "apt-a-b", "apt-c", "initramfs/1", "instead/6.1-0", "instead/6.1-1", "kernels/6.1_0",
		"kernels/6.1_1", "kmod-work/6.1_1-x", "kmod/6.1_1-1", "source/0", "source/1", "tmp/build-1",
	}
	const day = 24 * time.Hour
	tests := []struct {
		name        string
		age, unused time.Duration
		want        []string
	}{
		{"of today", 23 * time.Hour, 0, nil},
		{"of the day before", 25 * time.Hour, 0, []string{"accel/boot", "initramfs/1", "kmod/6.1_1-1", "tmp/build-1"}},
		{"of last week", 8 * day, 0, []string{"accel/boot", "initramfs/1", "kmod-work/6.1_1-x", "kmod/6.1_1-1", "tmp/build-1"}},
		{"of another month", 31 * day, 0, []string{
			"accel/boot", "apt-c", "initramfs/1", "instead/6.1-0", "kernels/6.1_0", "kmod-work/6.1_1-x",
			"kmod/6.1_1-1", "source/0", "tmp/build-1",
		}},
		{"as asked", 2 * time.Hour, time.Hour, []string{
			"accel/boot", "apt-c", "initramfs/1", "instead/6.1-0", "kernels/6.1_0", "kmod-work/6.1_1-x",
			"kmod/6.1_1-1", "source/0", "tmp/build-1",
		}},
		{"younger than asked", 2 * day, 3 * day, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := pruneRig(t)
			f.shelve(t, tt.age, everything...)
			if diff := cmp.Diff(tt.want, f.pruned(t, tt.unused)); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			left, err := f.Cache.keys("tmp/prune-*")
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// What is in use stays, however old it looks.
func TestPruneSparesUse(t *testing.T) {
	f := pruneRig(t)
	const old = 100 * 24 * time.Hour
	f.shelve(t, old, "kmod/used", "kmod/touched", "kmod/other", "kmod-work/busy", "kmod-work/idle")
	if ok, err := f.Cache.Use("kmod/used"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	f.shelve(t, old, "kmod/used") // old again, but in use
	// Another process has used it, and is gone.
	other := &Cache{Dir: f.Cache.Dir}
	if ok, err := other.Use("kmod/touched"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, file := range other.inUse {
		file.Close()
	}
	lock, err := f.Cache.Lock(t.Context(), "kmod-work/busy")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	dir, remove, err := f.Cache.scratch("build-")
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	f.shelve(t, old, "tmp/"+filepath.Base(dir))
	if diff := cmp.Diff([]string{"kmod-work/idle", "kmod/other"}, f.pruned(t, 0)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// Whoever asks for an entry that prune has just taken away gets a new one.
func TestEnsureAfterPrune(t *testing.T) {
	f := pruneRig(t)
	f.shelve(t, 100*24*time.Hour, "kmod/a")
	// As prune does: a lock, then the rename that a user may come in between.
	old, err := lockFile(f.Cache.Path("kmod/a"), os.O_RDONLY, unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := f.Cache.Ensure(context.Background(), "kmod/a", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "new"), nil, 0o644)
		})
		got <- err
	}()
	awaitBlocked(t, old)
	if _, err := f.Cache.discard("kmod/a"); err != nil {
		t.Fatal(err)
	}
	old.Close()
	if err := <-got; err != nil || !exists(f.Cache.Path("kmod/a/new")) {
		t.Errorf("no new entry: %v", err)
	}
}

// awaitBlocked waits until somebody waits for the flock on f.
func awaitBlocked(t *testing.T, f *os.File) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	inode := fmt.Sprintf(":%d ", st.Ino)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
				return
			}
		}
	}
	t.Fatal("nobody waits for the lock")
}

func TestPruneLocks(t *testing.T) {
	c := testCache(t)
	for _, key := range []string{"kmod/held", "kmod/free"} {
		l, err := c.Lock(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(key, "held") {
			defer l.Unlock()
		} else {
			l.Unlock()
		}
	}
	if err := c.pruneLocks(); err != nil {
		t.Fatal(err)
	}
	keys, err := c.keys("locks/*")
	if diff := cmp.Diff([]string{"locks/kmod-held"}, keys); err != nil || diff != "" {
		t.Errorf("lock files: %v (-want +got):\n%s", err, diff)
	}
}

// Tidy looks once a day.
func TestTidy(t *testing.T) {
	f := pruneRig(t)
	const old = 100 * 24 * time.Hour
	tidied := func() bool {
		f.shelve(t, old, "kmod/a")
		if err := f.Tidy(); err != nil {
			t.Fatal(err)
		}
		there, err := f.Cache.Has("kmod/a")
		if err != nil {
			t.Fatal(err)
		}
		return !there
	}
	if !tidied() {
		t.Error("not the first time")
	}
	if tidied() {
		t.Error("twice a day")
	}
	mark := f.Cache.Path("pruned")
	if err := os.Chtimes(mark, time.Now(), time.Now().Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !tidied() {
		t.Error("not on the next day")
	}
}
