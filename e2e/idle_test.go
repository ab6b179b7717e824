package e2e

// This file owns the receiver that has nothing to do: it uses no CPU.

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

const (
	idleConns = 100
	idleTime  = 10 * time.Second
	// Of a CPU: 0.1 % of idleTime. Where the kernel counts in ticks of 4 ms, that
	// is two of them.
	idleCPU = idleTime / 1000
	// Sleeps of a poller in that time. It has no reason to wake up at all.
	idleSleeps = 2
)

// thread is one of the receiver module's, and the CPU time it has used.
type thread struct {
	name string
	cpu  time.Duration
}

// threads are pollers and workers of r0 and its like, by thread id.
func threads(t *testing.T) map[int]thread {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]thread{}
	for _, dir := range dirs {
		// A thread may end at any time.
		comm, _ := os.ReadFile(dir + "/comm")
		name := string(bytes.TrimSpace(comm))
		if !strings.HasPrefix(name, "rxpost_") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		all[pid] = thread{name, cpuTime(t, dir)}
	}
	return all
}

// cpuTime is the time a thread has been on a CPU. It is what the scheduler
// measures, and not in whole ticks unless the kernel has no better clock.
func cpuTime(t *testing.T, dir string) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(dir + "/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
	if err != nil {
		t.Fatalf("%s/schedstat: %q: %v", dir, stat, err)
	}
	return time.Duration(ns)
}

// strangers connects n peers that never send, to a port.
func (r *rig) strangers(n int, port uint16) {
	r.t.Helper()
	for range n {
		p := dialRawPort(r.t, port)
		p.connect(nil)
		p.establish()
	}
}

// In each poll mode that sleeps, with a hundred connections.
func TestIdleReceiverUsesNoCPU(t *testing.T) {
	modes := []ctl.PollMode{ctl.PollModeHybrid, ctl.PollModeEvent}
	r := newRig(t)
	for i, mode := range modes {
		port := listenAddr.Port() + uint16(i)
		_, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{
			Name: fmt.Sprint("r", i), Addr: netip.AddrPortFrom(listenAddr.Addr(), port),
			PollMode: &mode, Depth: ptr(uint32(16)), SlotSize: ptr(uint32(512)), MaxConns: ptr(uint32(idleConns)),
		})
		if err != nil {
			t.Fatal(err)
		}
		r.strangers(idleConns, port)
	}
	before, sleeps := r.asleep(modes), r.sleepsOf(modes)
	time.Sleep(idleTime) // what is measured is what happens in that time
	after := threads(t)
	if len(before) != 2*len(modes) { // a poller and a worker each
		t.Errorf("threads: %v", before)
	}
	for pid, th := range before {
		used := after[pid].cpu - th.cpu
		t.Logf("%s: %v in %v", th.name, used, idleTime)
		if after[pid].name != th.name || used > idleCPU {
			t.Errorf("%s: %v of CPU in %v, %d connections idle", th.name, used, idleTime, idleConns)
		}
	}
	for i, n := range r.sleepsOf(modes) {
		if n-sleeps[i] > idleSleeps {
			t.Errorf("%v: %d sleeps in %v", modes[i], n-sleeps[i], idleTime)
		}
	}
	for i := range modes {
		if _, err := r.ctl.Delete(r.ctx, fmt.Sprint("r", i)); err != nil {
			t.Error(err)
		}
	}
}

// asleep waits until all connections are up and their threads are done with
// that, and returns the threads.
func (r *rig) asleep(modes []ctl.PollMode) map[int]thread {
	r.t.Helper()
	for i := range modes {
		r.must("all connections live", func() error {
			rcv, err := r.ctl.Receiver(r.ctx, fmt.Sprint("r", i))
			if err == nil && rcv.Counters.Accepted != idleConns {
				err = fmt.Errorf("%d", rcv.Counters.Accepted)
			}
			return err
		})
	}
	var last map[int]thread
	r.must("threads asleep", func() error {
		now := threads(r.t)
		for pid, th := range now {
			if last[pid] != th {
				last = now
				return fmt.Errorf("%s runs", th.name)
			}
		}
		return nil
	})
	return last
}

// sleepsOf is how often the poller of each receiver went to sleep so far.
func (r *rig) sleepsOf(modes []ctl.PollMode) []uint64 {
	r.t.Helper()
	sleeps := make([]uint64, len(modes))
	for i := range modes {
		rcv, err := r.ctl.Receiver(r.ctx, fmt.Sprint("r", i))
		if err != nil {
			r.t.Fatal(err)
		}
		sleeps[i] = rcv.Counters.Sleeps
	}
	return sleeps
}
