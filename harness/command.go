package harness

// This file owns running programs on the host.

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Progress is where long steps say what they are at. Nil is silence.
type Progress io.Writer

// run runs a program in dir and returns its stdout. It dies with ctx, and with
// the harness itself.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	return runHolding(ctx, nil, dir, args...)
}

// runHolding is run for a program that changes what lock protects. Its children
// inherit the lock: when the harness is killed, make dies with it, but not the
// compilers, and until they have ended nobody else may build there.
func runHolding(ctx context.Context, lock *Lock, dir string, args ...string) (string, error) {
	var files []*os.File
	if lock != nil {
		files = []*os.File{lock.file}
	}
	return runCommand(ctx, files, nil, dir, args...)
}

// runWatched is run for a program that takes long; watch gets its stdout, too,
// unless it is nil.
func runWatched(ctx context.Context, watch io.Writer, dir string, args ...string) (string, error) {
	return runCommand(ctx, nil, watch, dir, args...)
}

func runCommand(ctx context.Context, files []*os.File, watch io.Writer, dir string, args ...string) (string, error) {
	var out bytes.Buffer
	var all transcript
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout = io.MultiWriter(&out, &all)
	if watch != nil {
		cmd.Stdout = io.MultiWriter(&out, &all, watch)
	}
	cmd.Stderr = &all
	cmd.ExtraFiles = files
	// A group of its own, so that make's children end with make.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", &CommandError{Args: args, Output: all.String(), Err: err}
	}
	return out.String(), nil
}

// transcript is what a program wrote to both of its outputs, each of which is
// copied by a goroutine of its own.
type transcript struct {
	mu   sync.Mutex // protects text
	text strings.Builder
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
