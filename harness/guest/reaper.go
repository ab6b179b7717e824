package guest

// This file owns child processes: PID 1 inherits every orphan, so one place
// must wait for all of them and know its own.

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// reaper starts processes and waits for every child there is.
type reaper struct {
	mu   sync.Mutex // held from fork to registration, protects own
	own  map[int]chan syscall.WaitStatus
	wake chan struct{} // there may be children again
}

func newReaper() *reaper {
	r := &reaper{own: map[int]chan syscall.WaitStatus{}, wake: make(chan struct{}, 1)}
	go r.loop()
	return r
}

func (r *reaper) loop() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			<-r.wake
			continue
		}
		if err != nil {
			continue // interrupted
		}
		r.mu.Lock()
		if ch, ok := r.own[pid]; ok {
			delete(r.own, pid)
			ch <- ws
		}
		r.mu.Unlock()
	}
}

// start starts a program. Its status comes from the channel.
func (r *reaper) start(path string, args []string, attr *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, args, attr)
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan syscall.WaitStatus, 1)
	r.own[pid] = ch
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return pid, ch, nil
}

// modprobe loads a module, or says why not.
func (r *reaper) modprobe(name string) error {
	out, err := os.CreateTemp("/run", "modprobe-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	// Busybox's starts several times as fast as the real one.
	_, done, err := r.start("/bin/busybox", []string{"modprobe", name}, &syscall.ProcAttr{
		Env: []string{"PATH=/bin:/sbin"}, Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
	})
	if err != nil {
		return fmt.Errorf("modprobe %s: %w", name, err)
	}
	if ws := <-done; ws != 0 {
		said, err := os.ReadFile(out.Name())
		if err != nil {
			return err
		}
		return fmt.Errorf("modprobe %s: %s", name, strings.TrimSpace(string(said)))
	}
	return nil
}
