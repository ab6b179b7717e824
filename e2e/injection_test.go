package e2e

// This file owns the kernel's fault injection: memory that is not to be had,
// for one allocation of a thread, counted below the code of one module alone.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// neverUsedUp is what the kernel counts down from with every failure; -1, which
// is without end, it would not count.
const neverUsedUp = 1 << 30

// injection is the kernel's fault injection, set up. Until a thread's fail-nth
// says otherwise nothing fails.
type injection struct {
	t     *testing.T
	begun int // failures before
}

// allocators are those that can be made to fail.
func allocators() []string {
	return []string{"/sys/kernel/debug/failslab/", "/sys/kernel/debug/fail_page_alloc/"}
}

// newInjection prepares faults for whatever is allocated below a range of code, one
// of the kernel's symbols.
// A kernel that was built for it must have them; Debian's have not.
func newInjection(t *testing.T, all []symbol, begin, end uint64) *injection {
	t.Helper()
	if _, err := os.Stat(allocators()[0]); errors.Is(err, fs.ErrNotExist) {
		// debug and next have vm/config/faults.config: it missing there is a failure.
		if kernel := os.Getenv("RXVM_KERNEL"); kernel != "debug" && kernel != "next" {
			t.Skipf("kernel %s is built without fault injection", kernel)
		}
	}
	rejectBegin, rejectEnd := kmemleak(t, all)
	for _, dir := range allocators() {
		for name, value := range map[string]any{
			"probability": 0, "interval": 1, "times": neverUsedUp, "space": 0, "task-filter": "N", "verbose": 0,
			"ignore-gfp-wait": "N", "stacktrace-depth": 32, "require-start": begin, "require-end": end,
			"reject-start": rejectBegin, "reject-end": rejectEnd,
		} {
			setKnob(t, dir+name, value)
		}
	}
	setKnob(t, "/sys/kernel/debug/failslab/cache-filter", "N")
	setKnob(t, "/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N")
	setKnob(t, "/sys/kernel/debug/fail_page_alloc/min-order", 0)
	in := &injection{t: t}
	in.begun = in.failures()
	t.Cleanup(func() { figure(t, "faults injected", in.failures()-in.begun) })
	return in
}

// kmemleak is where the kernel keeps book of what is allocated, which allocates,
// too, below whoever did. That it finds no memory changes nothing for anyone, so it
// is no failure of theirs (6.12 mm/kmemleak.c:470). Without it there is nothing.
func kmemleak(t *testing.T, all []symbol) (begin, end uint64) {
	t.Helper()
	ours := func(s symbol) bool {
		switch s.name {
		case "create_object", "__create_object", "__alloc_object", "mem_pool_alloc": // as far as they are not inlined
			return s.module == "" && strings.EqualFold(s.kind, "t")
		}
		return false
	}
	if !slices.ContainsFunc(all, func(s symbol) bool { return s.name == "kmemleak_alloc" && s.at != 0 }) {
		return 0, 0
	}
	begin, end = span(t, all, "kmemleak's own code", ours)
	// One file's functions: more would take others' failures away.
	if size := end - begin; size > 1<<16 {
		t.Fatalf("kmemleak's own code is said to be %d bytes", size)
	}
	return begin, end
}

func setKnob(t *testing.T, file string, value any) {
	t.Helper()
	if err := os.WriteFile(file, fmt.Appendln(nil, value), 0); err != nil {
		t.Fatal(err)
	}
}

// failures is how many allocations were made to fail until now.
func (in *injection) failures() int {
	in.t.Helper()
	n := 0
	for _, dir := range allocators() {
		left, err := strconv.Atoi(readLine(in.t, dir+"times"))
		if err != nil {
			in.t.Fatal(err)
		}
		n += neverUsedUp - left
	}
	return n
}

func readLine(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// below is newInjection for what a module's code allocates, itself and by way of
// the functions it calls.
func below(t *testing.T, module string) *injection {
	t.Helper()
	all := symbols(t)
	begin, end := textOf(t, all, module)
	return newInjection(t, all, begin, end)
}

// symbol is one of the kernel's, or of a module's.
type symbol struct {
	at           uint64
	kind         string // as nm has it: t and T are code
	name, module string
}

// symbols returns all, in the order of their addresses, which root may see even if
// they are hidden from others.
func symbols(t *testing.T) []symbol {
	t.Helper()
	const hidden = "/proc/sys/kernel/kptr_restrict"
	before := readLine(t, hidden)
	setKnob(t, hidden, 1)
	defer setKnob(t, hidden, before)
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	var all []symbol
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		s := symbol{at: hexNumber(t, f[0]), kind: f[1], name: f[2]}
		if len(f) > 3 {
			s.module = strings.Trim(f[3], "[]")
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b symbol) int { return cmp.Compare(a.at, b.at) })
	return all
}

// textOf is where the kernel has a module's code: from its first function to
// whatever comes after its last. Modules may lie side by side (since 6.13).
func textOf(t *testing.T, all []symbol, module string) (begin, end uint64) {
	t.Helper()
	return span(t, all, "module "+module, func(s symbol) bool {
		return s.module == module && strings.EqualFold(s.kind, "t")
	})
}

// functionOf is where the kernel's own function of that name is.
func functionOf(t *testing.T, all []symbol, name string) (begin, end uint64) {
	t.Helper()
	return span(t, all, name, func(s symbol) bool { return s.module == "" && s.name == name })
}

// span is from the first symbol that is wanted to the one after the last.
func span(t *testing.T, all []symbol, what string, wanted func(symbol) bool) (begin, end uint64) {
	t.Helper()
	first := slices.IndexFunc(all, wanted)
	if first < 0 || all[first].at == 0 {
		t.Fatalf("the kernel does not say where %s is", what)
	}
	last := first
	for i := first; i < len(all); i++ {
		if wanted(all[i]) {
			last = i
		}
	}
	for _, s := range all[last:] {
		if s.at > all[last].at {
			return all[first].at, s.at
		}
	}
	t.Fatalf("nothing comes after %s", what)
	return 0, 0
}

func hexNumber(t *testing.T, s string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// own does something on this thread with its n-th allocation failing. It returns
// whether one failed.
func (in *injection) own(n int, do func() error) (failed bool, err error) {
	in.t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nth = "/proc/thread-self/fail-nth"
	before := in.failures()
	setKnob(in.t, nth, n)
	err = do()
	left := readLine(in.t, nth)
	setKnob(in.t, nth, 0)
	failed = in.failures() > before
	if failed != (left == "0") {
		in.t.Fatalf("allocation %d: failed %v, but %s are left", n, failed, left)
	}
	return failed, err
}

// others does something with the n-th allocation of each of some threads failing,
// as far as they still exist.
func (in *injection) others(n int, threads []uint32, do func() error) (failed bool, err error) {
	in.t.Helper()
	before := in.failures()
	set := func(n int) {
		for _, tid := range threads {
			err := os.WriteFile(fmt.Sprintf("/proc/%d/fail-nth", tid), fmt.Appendln(nil, n), 0)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				in.t.Fatal(err)
			}
		}
	}
	set(n)
	err = do()
	set(0)
	return in.failures() > before, err
}

// everywhere is others with this thread among them.
func (in *injection) everywhere(n int, threads []uint32, do func() error) (failed bool, err error) {
	in.t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return in.others(n, append(threads, uint32(unix.Gettid())), do)
}

// kworkers are the threads in which work items run, those of the CM among them.
// What is allocated there for somebody else is not below the module's code.
func kworkers(t *testing.T) []uint32 {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	var tids []uint32
	for _, file := range all {
		comm, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(comm), "kworker/") {
			continue // it may have ended
		}
		tid, err := strconv.ParseUint(filepath.Base(filepath.Dir(file)), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		tids = append(tids, uint32(tid))
	}
	return tids
}
