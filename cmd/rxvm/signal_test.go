package main

// This file owns the tests of what signals do to rxvm: Ctrl-C, SIGQUIT, and
// its own sudden death.

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds the waits for a process that should be ending.
const patience = time.Minute

// guestRun is an rxvm whose guest has said that it is up.
type guestRun struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr *bytes.Buffer
	tmp    string
	qemu   int // a pidfd
}

// startGuest starts rxvm on a command that prints "up" and waits.
func startGuest(t *testing.T, p programs, args ...string) *guestRun {
	t.Helper()
	r := &guestRun{cmd: exec.Command(p.rxvm, args...), stderr: new(bytes.Buffer), tmp: t.TempDir()}
	r.cmd.Dir = p.root
	r.cmd.Env = append(os.Environ(), "TMPDIR="+r.tmp)
	r.cmd.Stderr = r.stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cmd.Process.Kill() })
	r.out = bufio.NewReader(out)
	line, err := r.out.ReadString('\n')
	if line != "up\n" {
		t.Fatalf("guest said %q, %v; stderr:\n%s", line, err, r.stderr)
	}
	r.qemu = openChild(t, r.cmd.Process.Pid, "qemu-system")
	return r
}

// openChild returns a pidfd of pid's child whose name begins with prefix.
func openChild(t *testing.T, pid int, prefix string) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if err != nil {
			continue // a thread that has just ended
		}
		for f := range strings.FieldsSeq(string(text)) {
			var child int
			if _, err := fmt.Sscan(f, &child); err != nil {
				t.Fatal(err)
			}
			comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child))
			if err != nil || !strings.HasPrefix(string(comm), prefix) {
				continue
			}
			fd, err := unix.PidfdOpen(child, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(fd) })
			return fd
		}
	}
	t.Fatalf("rxvm has no child %s", prefix)
	return -1
}

// gone waits for the process behind a pidfd to end.
func gone(t *testing.T, pidfd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(patience.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if n != 1 || err != nil {
			t.Errorf("QEMU is still there after %v: %v", patience, err)
		}
		return
	}
}

// end sends a signal to rxvm and returns how it ended.
func (r *guestRun) end(t *testing.T, sig syscall.Signal) syscall.WaitStatus {
	t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { r.cmd.Process.Kill() })
	defer limit.Stop()
	r.cmd.Wait()
	return r.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// empty checks that a run has left nothing among the temporary files.
func (r *guestRun) empty(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(r.tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCtrlC(t *testing.T) {
	p := vmTest(t)
	r := startGuest(t, p, "sh", "-c", "echo up; sleep 1000")
	if ws := r.end(t, syscall.SIGINT); ws.ExitStatus() != exitInterrupted {
		t.Errorf("ended with %v; stderr:\n%s", ws, r.stderr)
	}
	gone(t, r.qemu)
	r.empty(t)
}

func TestKilled(t *testing.T) {
	p := vmTest(t)
	r := startGuest(t, p, "sh", "-c", "echo up; sleep 1000")
	if ws := r.end(t, syscall.SIGKILL); ws.Signal() != syscall.SIGKILL {
		t.Errorf("ended with %v", ws)
	}
	gone(t, r.qemu)
	r.empty(t)
}

// go test sends SIGQUIT to a test that overran everything; the guest's process
// must be the one to die of it, with its goroutines on stderr.
func TestQuit(t *testing.T) {
	p := vmTest(t)
	r := startGuest(t, p, p.waiter)
	if ws := r.end(t, syscall.SIGQUIT); ws.ExitStatus() != 2 {
		t.Errorf("ended with %v", ws)
	}
	for _, want := range []string{"SIGQUIT: quit", "goroutine 1", "main.waitForGood"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("no %q on stderr:\n%s", want, r.stderr)
		}
	}
	gone(t, r.qemu)
}
