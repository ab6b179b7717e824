package e2e

// This file owns rxctl as a process: without privilege, without its module, on a
// terminal, and watching.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/ctl"
)

// rxctl runs the CLI as a user would and returns what it printed and its exit
// status.
func (r *rig) rxctl(args ...string) (stdout, stderr string, status int) {
	r.t.Helper()
	var out, errOut strings.Builder
	cmd := exec.CommandContext(r.ctx, "rxctl", args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out.String(), errOut.String(), exit.ExitCode()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return out.String(), errOut.String(), 0
}

// nobody runs rxctl without any capability.
func (r *rig) nobody(args ...string) (stderr string, status int) {
	r.t.Helper()
	var errOut strings.Builder
	cmd := exec.CommandContext(r.ctx, "rxctl", args...)
	cmd.Stderr = &errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Run(); cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return errOut.String(), cmd.ProcessState.ExitCode()
}

// Who may not change things may look at them.
func TestWithoutPrivilege(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	before := r.receiver()
	for _, args := range []string{"recv show", "recv show r0", "conn show", "stats r0", "version", "link show"} {
		if stderr, status := r.nobody(strings.Fields(args)...); status != 0 || stderr != "" {
			t.Errorf("rxctl %s: exit status %d, %q", args, status, stderr)
		}
	}
	for args, op := range map[string]string{
		"recv add r1 --addr 10.9.0.1:7472":         "add receiver r1",
		"recv set r0 --batch 4":                    "set receiver r0",
		"recv del r0":                              "delete receiver r0",
		"send 10.9.0.1:7471 --count 1":             "send to 10.9.0.1:7471",
		"link add rxe1 --type rxe --netdev rxnet0": "add rxe device rxe1 on rxnet0",
		"link del rxe0":                            "remove device rxe0",
	} {
		stderr, status := r.nobody(strings.Fields(args)...)
		want := fmt.Sprintf("rxctl: %s: this wants the capability CAP_NET_ADMIN", op)
		if status != 3 || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("rxctl %s: exit status %d, %q, want 3 and %q", args, status, stderr, want)
		}
	}
	if now := r.receiver(); now.Batch != before.Batch || now.State != before.State || now.Counters.Accepted != 0 {
		t.Errorf("receiver: %+v", now)
	}
	r.deleteSoon()
}

// Without the module rxctl says so; with it installed the first call loads it,
// whoever calls.
func TestModuleNotLoaded(t *testing.T) {
	r := newRig(t)
	for module, args := range map[string]string{
		"rxpost_recv": "recv show",
		"rxpost_send": "send 10.9.0.1:7999",
	} {
		allow := blacklist(t, module)
		rmmod(t, module)
		_, stderr, status := r.rxctl(strings.Fields(args)...)
		want := "the kernel module is not loaded and did not load by itself; try modprobe " + module + "\n"
		if status != 4 || !strings.HasSuffix(stderr, want) || loaded(module) {
			t.Errorf("rxctl %s: exit status %d, %q, loaded %v; want 4 and %q", args, status, stderr, loaded(module), want)
		}
		allow()
		if stderr, status := r.nobody(strings.Fields(args)...); status == 4 || !loaded(module) {
			t.Errorf("rxctl %s: exit status %d, %q, loaded %v", args, status, stderr, loaded(module))
		}
	}
	r.reconnect()
	r.works()
}

// Progress is for a terminal; scripts (conn.txtar) see none.
func TestProgressOnTerminal(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	user, tty := openPTY(t)
	cmd := exec.CommandContext(r.ctx, "rxctl", "send", listenAddr.String())
	cmd.Stderr = tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	bounded(t, "progress", slack, func() error {
		buf := make([]byte, 256)
		for !strings.Contains(seen.String(), "messages/s") {
			n, err := user.Read(buf)
			if err != nil {
				return err
			}
			seen.Write(buf[:n])
		}
		return nil
	})
	if !strings.HasPrefix(seen.String(), "\r\x1b[Ksending: ") {
		t.Errorf("progress: %q", seen.String())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	bounded(t, "end after Ctrl-C", slack, cmd.Wait)
	r.runsGone()
	if c := r.alone().Counters; c.Accepted != 1 {
		t.Errorf("counters: %+v", c)
	}
	r.deleteSoon()
}

// openPTY opens a terminal: the user's side and the program's.
func openPTY(t *testing.T) (user, tty *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/pts/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return user, tty
}

// watching is a command that prints lines until it is interrupted.
type watching struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

// watch starts a command that goes on until interrupt is called.
func (r *rig) watch(args ...string) *watching {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, 2*settleTime)
	r.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "rxctl", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return &watching{r.t, cmd, lines}
}

// next waits for a line.
func (w *watching) next() string {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		if ok {
			return line
		}
		w.t.Fatalf("%s ended", w.cmd)
	case <-time.After(settleTime):
		w.t.Fatalf("%s printed nothing in %v", w.cmd, settleTime)
	}
	return ""
}

// interrupt ends the command as Ctrl-C does, which must be a good end.
func (w *watching) interrupt() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		w.t.Error(err)
	}
	go func() {
		for range w.lines { // or the pipe could fill, and keep the command
		}
	}()
	bounded(w.t, "end after Ctrl-C", slack, w.cmd.Wait)
}

// A monitor prints each event on a line as it happens, until Ctrl-C.
func TestMonitor(t *testing.T) {
	r := newRig(t)
	monitor := r.watch("-j", "monitor")
	r.listening(monitor.lines)

	r.works()
	var got []string
	for ended := false; !ended; {
		line := monitor.next()
		var ev ctl.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if ev.ReceiverName != "r0" {
			continue
		}
		got = append(got, ev.Type.String())
		ended = ev.Type == ctl.EventTypeReceiverGone
	}
	want := []string{"receiver-new", "conn-up", "conn-down", "receiver-gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	monitor.interrupt()
}

// listening makes receivers of another name until the monitor tells of one: from
// then on it hears everything.
func (r *rig) listening(lines <-chan string) {
	r.t.Helper()
	for deadline := time.Now().Add(settleTime); time.Now().Before(deadline); {
		if _, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{Name: "probe", Addr: listenAddr}); err != nil {
			r.t.Fatal(err)
		}
		if _, err := r.ctl.Delete(r.ctx, "probe"); err != nil {
			r.t.Fatal(err)
		}
		select {
		case <-lines:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	r.t.Fatal("the monitor tells nothing")
}

// reload unloads both modules and loads them in this order, which is that of
// the numbers of their groups.
func reload(t *testing.T, first, second string) {
	t.Helper()
	rmmod(t, first)
	rmmod(t, second)
	modprobe(t, first)
	modprobe(t, second)
}

// A client that knows the families' former numbers asks again by itself.
func TestModuleReloaded(t *testing.T) {
	r := newRig(t)
	r.works()
	reload(t, "rxpost_recv", "rxpost_send")
	r.works() // all of it by the client of before
	reload(t, "rxpost_send", "rxpost_recv")
	// Nothing was asked yet that could have told the new numbers.
	ctx, cancel := context.WithTimeout(r.ctx, settleTime)
	defer cancel()
	events, err := r.ctl.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	r.add(ctl.ReceiverConfig{})
	if ev, err := events.Next(); err != nil || ev.Type != ctl.EventTypeReceiverNew {
		t.Errorf("event %+v, error %v", ev, err)
	}
	r.deleteSoon()
}

// Whoever asks while the module is unloaded hears that it is not loaded, and
// nothing else.
func TestAskedWhileUnloading(t *testing.T) {
	r := newRig(t)
	allow := blacklist(t, "rxpost_recv")
	for range 5 {
		c, err := ctl.New()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Receivers(r.ctx); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := c.Receivers(r.ctx); err != nil {
					ended <- err
					return
				}
			}
		}()
		// A dump that runs keeps the module: it must be met between two.
		r.must("rmmod rxpost_recv", func() error { return unix.DeleteModule("rxpost_recv", unix.O_NONBLOCK) })
		if err := <-ended; !errors.Is(err, ctl.ErrNotLoaded) {
			t.Errorf("asked while the module was unloaded: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		modprobe(t, "rxpost_recv")
	}
	allow()
	r.works()
}
