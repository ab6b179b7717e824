package e2e

// This file owns the systemd unit of contrib: its commands run here as systemd
// would run them.

import (
	"strings"
	"testing"

	"github.com/rxpost/rxpost/contrib"
	"github.com/rxpost/rxpost/ctl"
)

// installedRxctl is where README has it copied to.
const installedRxctl = "/usr/local/bin/rxctl"

// unitRig is a machine that has been set up as the unit's comments say.
type unitRig struct {
	*rig
	commands map[string]string // by key
	env      string            // of the environment file
}

func newUnitRig(t *testing.T) *unitRig {
	t.Helper()
	u := &unitRig{rig: newRig(t), commands: map[string]string{}}
	unit, err := contrib.File("systemd/rxpost@.service")
	if err != nil {
		t.Fatal(err)
	}
	if u.env, err = contrib.File("systemd/r0.conf"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(unit) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "Exec") {
			u.commands[key] = value
		}
	}
	if len(u.commands) != 2 {
		t.Fatalf("commands: %v, want ExecStart and ExecStop", u.commands)
	}
	return u
}

// systemd runs the unit's command for instance r0. Of systemd's rules it knows
// those that the unit uses: %i, and a word $NAME, which becomes the words of that
// variable. A unit that uses another fails.
func (u *unitRig) systemd(key string) (stdout, stderr string, status int) {
	u.t.Helper()
	vars := map[string][]string{}
	for line := range strings.Lines(u.env) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && line[0] != '#' {
			vars["$"+name] = strings.Fields(value)
		}
	}
	var args []string
	for _, word := range strings.Fields(u.commands[key]) {
		if value, ok := vars[word]; ok {
			args = append(args, value...)
		} else {
			args = append(args, strings.ReplaceAll(word, "%i", "r0"))
		}
	}
	if line := strings.Join(args, " "); strings.ContainsAny(line, `$%"'\{}`) || args[0] != installedRxctl {
		u.t.Fatalf("%s: cannot run %s", key, line)
	}
	return u.rxctl(args[1:]...)
}

// A boot, traffic, a shutdown; and a second instance of the same name fails and
// leaves the first alone.
func TestSystemdUnit(t *testing.T) {
	u := newUnitRig(t)
	unloadAll(t)
	stdout, stderr, status := u.systemd("ExecStart")
	if status != 0 || !strings.HasPrefix(stdout, "r0: listening on rxe0, 10.9.0.1:7471; depth 256 ") || stderr != "" {
		t.Fatalf("ExecStart: exit status %d, %q, %q", status, stdout, stderr)
	}
	modprobe(t, "rxpost_send")
	u.reconnect()
	u.send(ctl.RunConfig{Count: ptr(uint64(100))})
	if c := u.receiver().Counters; c.Verified != 100 {
		t.Errorf("counters: %+v", c)
	}
	if _, stderr, status := u.systemd("ExecStart"); status != 1 || strings.Count(stderr, "\n") != 1 {
		t.Errorf("second ExecStart: exit status %d, %q, want 1 and a sentence", status, stderr)
	}
	stdout, stderr, status = u.systemd("ExecStop")
	if status != 0 || !strings.HasPrefix(stdout, "r0: gone, 0 live mappings\n") || stderr != "" {
		t.Errorf("ExecStop: exit status %d, %q, %q", status, stdout, stderr)
	}
}
