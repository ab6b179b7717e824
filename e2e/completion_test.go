package e2e

// This file owns what the shell offers at the Tab key, with a live system
// behind it.

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rxpost/rxpost/ctl"
)

// offered returns the words that rxctl offers for a command line whose last word
// is being typed. It must not complain, whatever there is.
func (r *rig) offered(line string) string {
	r.t.Helper()
	out, stderr, status := r.rxctl(append([]string{"__complete"}, strings.Split(line, " ")...)...)
	if status != 0 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "Completion ended") {
		r.t.Errorf("%q: exit status %d, %q", line, status, stderr)
	}
	words, directive, _ := strings.Cut(out, ":4\n")
	if directive != "" || !strings.HasSuffix(out, ":4\n") {
		r.t.Errorf("%q: not without files: %q", line, out)
	}
	var all []string
	for word := range strings.Lines(words) {
		word, _, _ = strings.Cut(strings.TrimSuffix(word, "\n"), "\t")
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

func TestCompletion(t *testing.T) {
	r := newRig(t)
	check := func(want map[string]string) {
		t.Helper()
		for line, words := range want {
			if diff := cmp.Diff(words, r.offered(line)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", line, diff)
			}
		}
	}
	check(map[string]string{
		"recv show ":           "",
		"recv add r0 --addr ":  listenAddr.String(),
		"recv add r0 --device": "--device",
		"recv add r0 --sink ":  "discard verify echo",
		"recv add r0 --allow ": "10.9.0.0/24 any",
		"link del ":            deviceName,
	})
	if words := strings.Fields(r.offered("link add rxe1 --netdev ")); !strings.Contains(strings.Join(words, " "), netdevName) {
		t.Errorf("network devices offered: %q", words)
	}
	if words := r.offered("recv add r0 --cpu "); !strings.HasPrefix(words, "0 1 ") {
		t.Errorf("CPUs offered: %q", words)
	}
	r.add(ctl.ReceiverConfig{})
	tr := r.flow(2)
	check(map[string]string{
		"recv show ":                  "r0",
		"stats ":                      "r0",
		"conn show --recv ":           "r0",
		"conn show --recv r0 --conn ": "0 1",
		"recv add r1 --addr ":         "10.9.0.1:7472",
	})
	tr.vanish()
	r.deleteSoon()
}

// Without the module nothing is offered, and looking does not load it: not as
// root, not as anybody.
func TestCompletionLoadsNothing(t *testing.T) {
	r := newRig(t)
	rmmod(t, "rxpost_recv")
	for _, line := range []string{"recv show ", "stats ", "conn show --recv ", "conn show --recv r0 --conn "} {
		if words := r.offered(line); words != "" {
			t.Errorf("%q: offered %q", line, words)
		}
	}
	// What needs no module is there all the same.
	if words := r.offered("recv add r0 --addr "); words != listenAddr.String() {
		t.Errorf("addresses offered: %q", words)
	}
	if _, status := r.nobody("__complete", "recv", "show", ""); status != 0 {
		t.Errorf("exit status %d for nobody", status)
	}
	if loaded("rxpost_recv") {
		t.Error("completion loaded the module")
	}
	// The module is there for whoever does ask.
	if err := exec.CommandContext(r.ctx, "rxctl", "recv", "show").Run(); err != nil || !loaded("rxpost_recv") {
		t.Errorf("rxctl recv show: %v, module loaded: %v", err, loaded("rxpost_recv"))
	}
	r.reconnect()
	r.works()
}
