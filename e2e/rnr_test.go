package e2e

// This file owns the empty queue: what a sender is told to wait, what it does
// wait, and that nothing is lost by it.

import (
	"fmt"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// A wait is one of InfiniBand's 32, the next above what was asked for, and rxe
// waits whole jiffies, at least one: 4 ms on Debian's kernels of 250 Hz.
func TestRNRTimerIsShown(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ asked, granted, effective ctl.Microseconds }{
		{0, 640, 4000}, // not asked for
		{1, 10, 4000},
		{640, 640, 4000},
		{641, 960, 4000},
		{3841, 5120, 8000},
		{30720, 30720, 32000},
		{491520, 491520, 492000}, // by code the last; by time not the longest
		{491521, 655360, 656000}, // code 0
	} {
		t.Run(fmt.Sprint(c.asked), func(t *testing.T) {
			r := *r
			r.t = t
			var cfg ctl.ReceiverConfig
			if c.asked != 0 {
				cfg.RNRTimer = &c.asked
			}
			r.add(cfg)
			rcv := r.receiver()
			if rcv.RNRTimer != c.granted || rcv.RNREffective != c.effective {
				t.Errorf("asked for %v: %v, in effect %v; want %v, %v", c.asked,
					rcv.RNRTimer, rcv.RNREffective, c.granted, c.effective)
			}
			r.delete()
		})
	}
}

// counter reads one of the device's own counters.
func (r *rig) counter(name string) uint64 {
	r.t.Helper()
	all, err := rdma.Host().Counters(deviceName)
	if err != nil {
		r.t.Fatal(err)
	}
	n, ok := all[name]
	if !ok {
		r.t.Fatalf("%s does not count %s", deviceName, name)
	}
	return n
}

// starve sends far more at once than a queue of two receives can take and
// returns how long it took and how often the sender was told to wait.
func (r *rig) starve(count uint64, wait ctl.Microseconds) (time.Duration, uint64) {
	r.t.Helper()
	before := r.counter("send_rnr_err")
	r.add(ctl.ReceiverConfig{
		Depth: ptr(uint32(2)), RNRTimer: &wait, Sink: ptr(ctl.SinkVerify),
	})
	run := r.send(ctl.RunConfig{Count: &count, InFlight: ptr(uint32(64))})
	rcv := r.alone()
	r.intact(rcv.Counters, count)
	r.posted(rcv)
	if rcv.Counters.Empty == 0 || rcv.Counters.Lowest == nil || *rcv.Counters.Lowest != 0 {
		r.t.Errorf("the queue never ran empty: %+v", rcv.Counters)
	}
	r.delete()
	return run.Elapsed, r.counter("send_rnr_err") - before
}

// The sender waits at least as long as the receiver says is in effect, each
// time it is told to.
func TestEmptyQueueDelaysAndLosesNothing(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		timer, effective ctl.Microseconds
		count            uint64
	}{{640, 4000, 300}, {30720, 32000, 60}} {
		took, waits := r.starve(c.count, c.timer)
		t.Logf("timer %v: %d messages in %v, told to wait %d times", c.timer, c.count, took, waits)
		if waits == 0 {
			t.Errorf("timer %v: never told to wait", c.timer)
		}
		// Each wait ends at a later tick than the one before. Ticks that
		// the emulation delivers late, at once, make up for little.
		each := c.effective.Duration()
		if least := time.Duration(waits) * each * 9 / 10; took < least {
			t.Errorf("timer %v: told to wait %d times, done in %v", c.timer, waits, took)
		}
		// Far from the 655 ms of a timer that was not set.
		if most := time.Duration(waits) * (each + 100*time.Millisecond); took > most {
			t.Errorf("timer %v: told to wait %d times, done in %v", c.timer, waits, took)
		}
	}
}
