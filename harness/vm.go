package harness

// This file owns a running VM: its process, its three ports and its deadlines.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/harness/wire"
)

// vm is one QEMU process and what the host knows about it.
type vm struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer // QEMU's; to be read after exited
	exited  chan struct{}
	console *console
	payload *payloadPort
	control *controlPort
	readers sync.WaitGroup
}

// The descriptors of ExtraFiles begin at 3.
const firstFD = 3

// startVM starts QEMU. It ends with ctx, and with this process.
func startVM(m machine, initrd *os.File, pl *plan, c Config) (*vm, error) {
	v := &vm{exited: make(chan struct{}), console: newConsole()}
	var host [3]net.Conn
	files := []*os.File{initrd}
	m.initrd = firstFD
	for i := range host {
		conn, guest, err := socketPair()
		if err != nil {
			return nil, err
		}
		defer guest.Close()
		host[i] = conn
		files = append(files, guest)
		m.serials = append(m.serials, firstFD+1+i)
	}
	v.cmd = exec.Command(qemuProgram, qemuArgs(m)...)
	v.cmd.ExtraFiles = files
	v.cmd.Stderr = &v.stderr
	// Its own process group, because a terminal's Ctrl-C is ours to handle.
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := v.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start QEMU: %w", err)
	}
	v.payload = newPayloadPort(host[1], pl, c)
	v.control = newControlPort(host[2])
	v.readers.Go(func() { v.console.read(host[0], c.Console) })
	v.readers.Go(v.payload.read)
	v.readers.Go(v.control.read)
	go func() {
		v.cmd.Wait()
		// The guest's ends are closed now, so the readers come to an end.
		v.readers.Wait()
		for _, h := range host {
			h.Close()
		}
		close(v.exited)
	}()
	return v, nil
}

// socketPair returns the host's end as a connection and QEMU's as a file.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	f := os.NewFile(uintptr(fds[0]), "host")
	defer f.Close()
	guest := os.NewFile(uintptr(fds[1]), "guest")
	conn, err := net.FileConn(f)
	if err != nil {
		guest.Close()
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	return conn, guest, nil
}

// kill ends QEMU and waits until nothing of it is left.
func (v *vm) kill() {
	v.cmd.Process.Kill()
	<-v.exited
}

// runVM runs the plan in a VM.
func runVM(ctx context.Context, m machine, initrd *os.File, pl *plan, c Config) (wire.Status, error) {
	v, err := startVM(m, initrd, pl, c)
	if err != nil {
		return wire.Status{}, err
	}
	defer v.kill()
	st, err := v.watch(ctx, m.accel, pl, c)
	if ctx.Err() != nil {
		return wire.Status{}, ctx.Err()
	}
	status, err := v.verdict(st, err)
	for name, n := range v.console.known() {
		fmt.Fprintf(c.Stderr, "rxvm: the kernel's own fault, docs/known-issues.md: %s (seen: %d)\n", name, n)
	}
	if status.LockdepOff {
		fmt.Fprintln(c.Stderr, "rxvm: lockdep turned itself off at that: locks were not checked from there on")
	}
	return status, err
}

// verdict weighs the console against how the run ended. A splat explains a
// lost VM and a hang, so it comes first.
func (v *vm) verdict(st *wire.Status, err error) (wire.Status, error) {
	v.kill()
	ended := "no exit status"
	if st != nil {
		ended = fmt.Sprintf("exit status %d", st.ExitCode())
	}
	if err != nil {
		ended, _, _ = strings.Cut(err.Error(), "\n")
	}
	if deadline := new(DeadlineError); errors.As(err, &deadline) {
		return wire.Status{}, err
	}
	if s := v.console.splats(); len(s) > 0 {
		return wire.Status{}, &SplatError{Splats: s, Ended: ended}
	}
	if err == nil {
		err = v.payload.err()
	}
	if err != nil {
		return wire.Status{}, err
	}
	if st.LockdepOff && !v.console.blinded() {
		return wire.Status{}, errors.New("lockdep had turned itself off, and nothing on the console says why")
	}
	return *st, nil
}

// watch follows the VM until it has ended or its time is up. The status is nil
// if the command's is not known.
func (v *vm) watch(ctx context.Context, accel Accel, pl *plan, c Config) (*wire.Status, error) {
	limit, what := time.NewTimer(c.limit(accel, bootTime)), "the guest did not boot in time"
	defer limit.Stop()
	var st *wire.Status
	var signals <-chan os.Signal // c.Signals while the command runs
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-v.exited:
			return v.gone(st)
		case s := <-signals:
			if sig, ok := s.(syscall.Signal); ok {
				v.control.send(wire.Order{Signal: sig})
			}
		case s := <-c.Resizes:
			v.control.send(wire.Order{Resize: &s})
		case e := <-v.control.events:
			switch {
			case e.Ready:
				signals = c.Signals
				limit.Reset(pl.deadline)
				what = ""
				v.payload.startStdin()
			case e.Status != nil:
				st, signals, what = e.Status, nil, "the guest did not power off"
				limit.Reset(c.limit(accel, powerOffTime))
			case e.Failed != "":
				return nil, v.lost("init: " + e.Failed)
			}
		case <-limit.C:
			if what == "" {
				return nil, v.overdue(accel, pl.deadline)
			}
			return st, v.lost(what)
		}
	}
}

// gone is how a QEMU that has ended left things. Every event it sent is in the
// channel by now.
func (v *vm) gone(st *wire.Status) (*wire.Status, error) {
	for drained := false; !drained; {
		select {
		case e := <-v.control.events:
			if e.Status != nil {
				st = e.Status
			}
		default:
			drained = true
		}
	}
	if st == nil {
		return nil, v.lost("QEMU ended before the command's status came")
	}
	if err := v.payload.err(); err != nil {
		return st, err // nobody read what followed
	}
	if !v.payload.complete() {
		return st, v.lost("the command's output was cut short")
	}
	return st, nil
}

func (v *vm) lost(reason string) error {
	e := &LostError{Reason: reason, Tail: v.console.last()}
	select {
	case <-v.exited:
		e.QEMU = v.stderr.String()
	default:
	}
	return e
}

// overdue asks a guest whose command takes too long what its tasks wait for,
// and gives it a moment to answer. The answer looks like a splat, so what the
// console had before is what counts.
func (v *vm) overdue(accel Accel, after time.Duration) error {
	if s := v.console.splats(); len(s) > 0 {
		return &SplatError{Splats: s, Ended: fmt.Sprintf("the command still ran after %v", after)}
	}
	v.control.send(wire.Order{SysRq: "wl"})
	limit := time.NewTimer(accel.Scale(dumpTime))
	defer limit.Stop()
	for waiting := true; waiting; {
		select {
		case e := <-v.control.events:
			waiting = !e.Dumped
		case <-v.exited:
			waiting = false
		case <-limit.C:
			waiting = false
		}
	}
	return &DeadlineError{After: after, Tail: v.console.last()}
}
