package guest

// This file owns running the command: its files, its signals, its end.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/harness/wire"
)

// The exit statuses a shell gives to a command it could not start.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// run runs the command to its end and its output's.
func (p *ports) run(procs *reaper, spec wire.Spec) (*wire.Status, error) {
	path, err := lookPath(spec)
	if err != nil {
		return p.refused(spec, err)
	}
	std, err := p.openStd(spec)
	if err != nil {
		return nil, err
	}
	attr := &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env, Files: std.child(),
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: spec.TTY},
	}
	pid, done, err := procs.start(path, spec.Args, attr)
	std.closeChild()
	if err != nil {
		std.closeHost()
		return p.refused(spec, err)
	}
	go p.orders(pid, std)
	go p.stdin(std)
	ws := <-done
	// What it left running would hold its output open for good.
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("kill what is left: %w", err)
	}
	std.output.Wait()
	std.closeHost()
	return statusOf(ws), nil
}

// lookPath finds the command as the command's own environment would.
func lookPath(spec wire.Spec) (string, error) {
	if strings.Contains(spec.Args[0], "/") {
		return spec.Args[0], nil
	}
	for _, kv := range spec.Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			if err := os.Setenv("PATH", v); err != nil {
				return "", err
			}
		}
	}
	return exec.LookPath(spec.Args[0])
}

// refused reports a command that could not be started, as a shell would.
func (p *ports) refused(spec wire.Spec, err error) (*wire.Status, error) {
	msg := fmt.Sprintf("rxvm: %s: %v\n", spec.Args[0], err)
	if err := p.frames.Frame(wire.Stderr, []byte(msg)); err != nil {
		return nil, err
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOENT) {
		return &wire.Status{Code: exitNotFound}, nil
	}
	return &wire.Status{Code: exitNotExecutable}, nil
}

func statusOf(ws syscall.WaitStatus) *wire.Status {
	if ws.Signaled() {
		return &wire.Status{Signal: ws.Signal()}
	}
	return &wire.Status{Code: ws.ExitStatus()}
}

// orders carries out what the host asks while the command runs.
func (p *ports) orders(pid int, std *stdio) {
	dec := json.NewDecoder(p.control)
	for {
		var o wire.Order
		if err := dec.Decode(&o); err != nil {
			return
		}
		switch {
		case o.Signal != 0:
			// Gone already: then its status is on the way.
			_ = unix.Kill(pid, o.Signal)
		case o.Resize != nil:
			std.resize(*o.Resize)
		case o.SysRq != "":
			sysrq(o.SysRq)
			p.event(wire.Event{Dumped: true})
		}
	}
}

// sysrq has the kernel print what the letters stand for, at a level that
// reaches the console.
func sysrq(letters string) {
	for _, l := range "9" + letters {
		os.WriteFile("/proc/sysrq-trigger", []byte(string(l)), 0)
	}
}

// stdio is the command's standard files: pipes, or one terminal.
type stdio struct {
	in, out, err *os.File // the command's
	feed         *os.File // ours
	sources      []*os.File
	output       sync.WaitGroup
}

func (p *ports) openStd(spec wire.Spec) (*stdio, error) {
	if spec.TTY {
		return p.openTTY(spec.Size)
	}
	s := &stdio{}
	var outR, errR *os.File
	var e1, e2, e3 error
	s.in, s.feed, e1 = os.Pipe()
	outR, s.out, e2 = os.Pipe()
	errR, s.err, e3 = os.Pipe()
	if err := errors.Join(e1, e2, e3); err != nil {
		return nil, fmt.Errorf("pipes: %w", err)
	}
	s.sources = []*os.File{outR, errR}
	s.copyOut(outR, p.frames.Stream(wire.Stdout))
	s.copyOut(errR, p.frames.Stream(wire.Stderr))
	return s, nil
}

func (s *stdio) copyOut(r io.Reader, w io.Writer) {
	s.output.Go(func() {
		// A terminal ends with EIO when its last user is gone.
		io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, wire.MaxFrame))
	})
}

func (s *stdio) child() []uintptr { return []uintptr{s.in.Fd(), s.out.Fd(), s.err.Fd()} }

func (s *stdio) closeChild() {
	s.in.Close()
	s.out.Close()
	s.err.Close()
}

func (s *stdio) closeHost() {
	s.feed.Close()
	for _, f := range s.sources {
		f.Close()
	}
}

// stdin passes the host's frames on.
func (p *ports) stdin(s *stdio) {
	r := wire.NewReader(p.payload)
	for {
		kind, data, err := r.Next()
		if err != nil {
			return
		}
		switch kind {
		case wire.Stdin:
			// A command that does not read loses it, as with any pipe.
			s.feed.Write(data)
			p.frames.Frame(wire.Ack, nil)
		case wire.StdinEOF:
			s.eof()
		}
	}
}
