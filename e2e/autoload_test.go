package e2e

// This file owns the modules' loading by rxctl's first call, and what keeps them
// from it. TestModuleNotLoaded has the simplest case.

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rxpost/rxpost/contrib"
)

const modprobeConf = "/etc/modprobe.d/rxpost.conf"

// Both modules, in the order in which they are unloaded.
func modules() []string { return []string{"rxpost_send", "rxpost_recv"} }

// unloadAll leaves a kernel that has never heard of either.
func unloadAll(t *testing.T) {
	t.Helper()
	for _, m := range modules() {
		if loaded(m) {
			rmmod(t, m)
		}
	}
}

// notLoaded checks that rxctl says that a module did not load, and exits with 4.
func (r *rig) notLoaded(args, module string) {
	r.t.Helper()
	_, stderr, status := r.rxctl(strings.Fields(args)...)
	want := "the kernel module is not loaded and did not load by itself; try modprobe " + module + "\n"
	if status != 4 || !strings.HasSuffix(stderr, want) || strings.Count(stderr, "\n") != 1 || loaded(module) {
		r.t.Errorf("rxctl %s: exit status %d, %q, loaded %v; want 4 and %q", args, status, stderr, loaded(module), want)
	}
}

// whole checks that everything works again.
func (r *rig) whole() {
	r.t.Helper()
	for _, m := range modules() {
		modprobe(r.t, m)
	}
	r.reconnect()
	r.works()
}

// Each command loads the module that it is about, and no other.
func TestAutoload(t *testing.T) {
	r := newRig(t)
	tests := []struct {
		args, module string // "" is neither
		status       int
	}{
		{"recv show", "rxpost_recv", 0},
		{"conn show", "rxpost_recv", 0},
		{"stats", "rxpost_recv", 0},
		{"version", "rxpost_recv", 0},
		{"recv add r0", "", 2},
		{"recv set r0 --batch 4", "rxpost_recv", 5},
		{"recv del r0", "rxpost_recv", 5},
		{"send 10.9.0.1:7999 --count 1", "rxpost_send", 1},
		{"link show", "", 0},
		{"help", "", 0},
	}
	for _, tt := range tests {
		unloadAll(t)
		_, stderr, status := r.rxctl(strings.Fields(tt.args)...)
		if status != tt.status || (stderr == "") != (status == 0) {
			t.Errorf("rxctl %s: exit status %d, %q, want %d", tt.args, status, stderr, tt.status)
		}
		for _, m := range modules() {
			if want := m == tt.module; loaded(m) != want {
				t.Errorf("rxctl %s: %s loaded: %v, want %v", tt.args, m, loaded(m), want)
			}
		}
	}
	r.whole()
}

// A monitor waits for events and not for a module: it loads it, too.
func TestAutoloadByMonitor(t *testing.T) {
	r := newRig(t)
	unloadAll(t)
	cmd := exec.CommandContext(r.ctx, "rxctl", "monitor")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.eventually("the module is loaded", func() error {
		if !loaded("rxpost_recv") {
			return os.ErrNotExist
		}
		return nil
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	bounded(t, "end after Ctrl-C", slack, cmd.Wait)
	r.whole()
}

// Loading comes before the question who may do what: it needs no privilege, and
// gives none.
func TestAutoloadWithoutPrivilege(t *testing.T) {
	r := newRig(t)
	for args, want := range map[string]struct {
		module string
		status int
	}{
		"version":                       {"rxpost_recv", 0},
		"recv add r0 --addr 10.9.0.1:1": {"rxpost_recv", 3},
		"send 10.9.0.1:7471 --count 1":  {"rxpost_send", 3},
	} {
		unloadAll(t)
		if stderr, status := r.nobody(strings.Fields(args)...); status != want.status || !loaded(want.module) {
			t.Errorf("rxctl %s: exit status %d, %q, loaded %v; want %d, and %s loaded",
				args, status, stderr, loaded(want.module), want.status, want.module)
		}
	}
	r.whole()
}

// Many first calls at once: each waits until the module is there.
func TestAutoloadAtOnce(t *testing.T) {
	const callers = 8
	r := newRig(t)
	for range 3 {
		unloadAll(t)
		type result struct {
			out []byte
			err error
		}
		results := make(chan result)
		for range callers {
			go func() {
				out, err := exec.CommandContext(r.ctx, "rxctl", "recv", "show").CombinedOutput()
				results <- result{out, err}
			}()
		}
		for range callers {
			if res := <-results; res.err != nil || len(res.out) != 0 {
				t.Errorf("rxctl recv show: %v, %q", res.err, res.out)
			}
		}
	}
	r.whole()
}

// Without one module the other still does its part.
func TestModuleNotInstalled(t *testing.T) {
	r := newRig(t)
	calls := map[string]string{"rxpost_recv": "recv show", "rxpost_send": "send 10.9.0.1:7999 --count 1"}
	for _, missing := range modules() {
		unloadAll(t)
		install := uninstall(t, missing)
		for _, m := range modules() {
			if m == missing {
				r.notLoaded(calls[m], m)
			} else if _, stderr, status := r.rxctl(strings.Fields(calls[m])...); status == 4 || !loaded(m) {
				t.Errorf("without %s: rxctl %s: exit status %d, %q", missing, calls[m], status, stderr)
			}
		}
		install()
	}
	r.whole()
}

// The settings of contrib do what is written beside them: bounds that hold for a
// module that loads by itself, and, uncommented, no loading but by name.
func TestModprobeSettings(t *testing.T) {
	r := newRig(t)
	text, err := contrib.File("modprobe.d/rxpost.conf")
	if err != nil {
		t.Fatal(err)
	}
	remove := writeFile(t, modprobeConf, text)
	unloadAll(t)
	if stdout, stderr, status := r.rxctl("version"); status != 0 || !strings.Contains(stdout, "2 GiB at most") {
		t.Errorf("rxctl version: exit status %d, %s%s; want a bound of 2 GiB", status, stdout, stderr)
	}
	r.rxctl("send", "10.9.0.1:7999", "--count", "1")
	for module, want := range map[string]string{"rxpost_recv": "2048\n", "rxpost_send": "512\n"} {
		got, err := os.ReadFile("/sys/module/" + module + "/parameters/memory_limit_mb")
		if err != nil || string(got) != want {
			t.Errorf("%s: memory_limit_mb is %q, %v; want %q", module, got, err, want)
		}
	}

	writeFile(t, modprobeConf, strings.ReplaceAll(text, "#blacklist", "blacklist"))
	unloadAll(t)
	r.notLoaded("recv show", "rxpost_recv")
	r.notLoaded("send 10.9.0.1:7999 --count 1", "rxpost_send")
	// What the sentence says to try.
	for _, m := range modules() {
		modprobe(t, m)
	}
	unloadAll(t)
	remove()
	r.whole()
}
