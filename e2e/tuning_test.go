package e2e

// This file owns tuning under traffic: every live knob is turned while messages
// come, has its effect, and costs none of them.

import (
	"fmt"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

const second = ctl.Microseconds(1_000_000)

// patient makes a receiver that posts in whole batches or not at all: no time
// limit to speak of, no low-water mark.
func (r *rig) patient(depth, batch uint32) {
	r.t.Helper()
	r.add(ctl.ReceiverConfig{
		Depth: &depth, Batch: &batch,
		BatchTimeout: ptr(second), LowWater: ptr(uint32(0)),
		Sink: ptr(ctl.SinkVerify),
	})
}

// finishRun ends traffic and checks that nothing of it was lost.
func (r *rig) finishRun(e endless) {
	r.t.Helper()
	run := e.stop()
	rcv := r.alone()
	r.intact(rcv.Counters, run.Posted)
	if l := rcv.Ledger; l.Completed != run.Posted || l.Failed+l.Reclaimed != 0 {
		r.t.Errorf("%d messages: ledger %+v", run.Posted, l)
	}
	r.delete()
}

// steady waits for traffic of several batches and checks that chains are as
// long as the batch and never longer.
func (r *rig) steady(batch uint32, look ...func(ctl.Receiver)) {
	r.t.Helper()
	r.settle()
	before := r.chains(nil)
	r.advance(uint64(8*batch)+100, look...)
	chains := r.chains(before)
	if chains[batch] == 0 {
		r.t.Errorf("batch %d: no chain of that length among %v", batch, chains)
	}
	for length := range chains {
		if length > batch {
			r.t.Errorf("batch %d: chains of %d", batch, length)
		}
	}
}

func TestTuneBatch(t *testing.T) {
	r := newRig(t)
	r.patient(256, 1)
	e := r.flood(ctl.RunConfig{})
	for _, batch := range []uint32{1, 16, 7, 64, 1} {
		r.set(ctl.ReceiverConfig{Batch: &batch})
		r.steady(batch)
	}
	r.finishRun(e)
}

func TestTuneDepth(t *testing.T) {
	const batch = 16
	r := newRig(t)
	r.patient(256, batch)
	e := r.flood(ctl.RunConfig{})
	was := uint32(256)
	for _, depth := range []uint32{32, 200, 17, 256} {
		r.set(ctl.ReceiverConfig{Depth: &depth})
		if depth < was {
			r.await(fmt.Sprintf("outstanding within depth %d", depth), func() bool {
				return r.receiver().Ledger.Outstanding <= depth
			})
		} else {
			r.await(fmt.Sprintf("more than depth %d outstanding", was), func() bool {
				return r.receiver().Ledger.Outstanding > was
			})
		}
		r.steady(batch, func(rcv ctl.Receiver) {
			if rcv.Ledger.Outstanding > depth {
				t.Fatalf("depth %d: %d outstanding", depth, rcv.Ledger.Outstanding)
			}
			// What is not to be posted rests; it is not held for a batch.
			if rcv.Ledger.Held > depth {
				t.Fatalf("depth %d: %d held", depth, rcv.Ledger.Held)
			}
		})
		was = depth
	}
	r.finishRun(e)
}

// A new target is acted on at once, not when a message comes: with one a second
// at the most, and batches of 1 so that no time limit runs, some of five steps
// must show in a reading without a new message. Without a kick none does.
func TestTuneIdle(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{
		Depth: ptr(uint32(32)), DepthMax: ptr(uint32(192)), Batch: ptr(uint32(1)),
		LowWater: ptr(uint32(0)), Sink: ptr(ctl.SinkVerify),
	})
	e := r.flood(ctl.RunConfig{Rate: ptr(uint64(1)), Batch: ptr(uint32(1))})
	atOnce := 0
	for _, depth := range []uint32{64, 96, 128, 160, 192} {
		before := r.receiver().Counters.Messages
		r.set(ctl.ReceiverConfig{Depth: &depth})
		var rcv ctl.Receiver
		r.await("the new depth posted", func() bool {
			rcv = r.receiver()
			return rcv.Ledger.Outstanding == depth
		})
		if rcv.Counters.Messages == before {
			atOnce++
		}
	}
	if atOnce == 0 {
		t.Error("every new depth waited for a message")
	}
	r.finishRun(e)
}

// A depth that is no multiple of the batch simply works, waits included.
func TestDepthNotMultipleOfBatch(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		depth, batch uint32
		count        uint64
	}{{100, 7, 2000}, {17, 16, 2000}, {1, 1, 100}} {
		t.Run(fmt.Sprintf("%d_%d", c.depth, c.batch), func(t *testing.T) {
			r := *r
			r.t = t
			r.patient(c.depth, c.batch)
			r.send(ctl.RunConfig{Count: &c.count, InFlight: ptr(min(c.depth, 64)), Batch: ptr(uint32(1))})
			chains := r.chains(nil)
			r.intact(r.alone().Counters, c.count)
			if chains[c.batch] < c.count/uint64(c.batch)/2 {
				t.Errorf("depth %d, batch %d: chains %v", c.depth, c.batch, chains)
			}
			if l := r.delete(); l.Posted != l.Completed+l.Flushed {
				t.Errorf("ledger %+v", l)
			}
		})
	}
}

// sleeps returns how often r0's poller went to sleep while n messages came.
func (r *rig) sleeps(n uint64) uint64 {
	r.t.Helper()
	r.settle()
	before := r.receiver().Counters.Sleeps
	return r.advance(n).Counters.Sleeps - before
}

func TestTunePollMode(t *testing.T) {
	const messages = 100
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	// Slow enough that a poller which may sleep does so between messages.
	e := r.flood(ctl.RunConfig{Rate: ptr(uint64(500)), Batch: ptr(uint32(1))})
	steps := []struct {
		mode  ctl.PollMode
		spin  ctl.Microseconds
		sleep bool
	}{
		{ctl.PollModeHybrid, 0, true},
		{ctl.PollModeBusy, 0, false},
		{ctl.PollModeEvent, 10_000, true}, // spin is hybrid's alone
		{ctl.PollModeHybrid, 50, true},
	}
	for _, s := range steps {
		r.set(ctl.ReceiverConfig{PollMode: &s.mode, Spin: &s.spin})
		n := r.sleeps(messages)
		t.Logf("%v, spin %v: %d sleeps in %d messages", s.mode, s.spin, n, messages)
		if s.sleep != (n > 0) {
			t.Errorf("%v: %d sleeps in %d messages", s.mode, n, messages)
		}
	}
	r.finishRun(e)
}

// Spinning for longer than it takes the next message to come, a poller sleeps
// less often than one that does not spin.
func TestTuneSpin(t *testing.T) {
	const messages = 200
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	e := r.flood(ctl.RunConfig{Rate: ptr(uint64(1000)), Batch: ptr(uint32(1))})
	r.set(ctl.ReceiverConfig{Spin: ptr(ctl.Microseconds(0))})
	without := r.sleeps(messages)
	r.set(ctl.ReceiverConfig{Spin: ptr(ctl.Microseconds(10_000))})
	with := r.sleeps(messages)
	t.Logf("sleeps in %d messages: %d without spinning, %d with", messages, without, with)
	if with >= without {
		t.Errorf("sleeps in %d messages: %d without spinning, %d with", messages, without, with)
	}
	r.finishRun(e)
}

// No poll takes more than the budget; a budget of 1 wants a poll a message.
func TestTuneBudget(t *testing.T) {
	const messages = 2000
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), PollMode: ptr(ctl.PollModeEvent)})
	e := r.flood(ctl.RunConfig{})
	for _, budget := range []uint32{16, 1, 16} {
		r.set(ctl.ReceiverConfig{Budget: &budget})
		r.settle()
		// A reading takes messages first and polls after, with any number of
		// turns between. So the polls begin with a reading of their own, and
		// are all of those that the messages came in, and some more.
		earlier := r.receiver().Counters
		before := r.receiver().Counters
		after := r.advance(messages).Counters
		polls, got := after.Polls-earlier.Polls, after.Messages-before.Messages
		t.Logf("budget %d: %d polls for %d messages", budget, polls, got)
		if one := polls >= got; one != (budget == 1) {
			t.Errorf("budget %d: %d polls for %d messages", budget, polls, got)
		}
		if polls*uint64(budget) < got {
			t.Errorf("budget %d: %d messages in %d polls", budget, got, polls)
		}
	}
	r.finishRun(e)
}

// split returns how many chains of traffic are of the batch and how many less.
func (r *rig) split(batch uint32, messages uint64) (whole, shorter uint64) {
	r.t.Helper()
	r.settle()
	before := r.chains(nil)
	r.advance(messages)
	for length, n := range r.chains(before) {
		if length < batch {
			shorter += n
		} else {
			whole += n
		}
	}
	return whole, shorter
}

// What holds a batch back, and what does not: the low-water mark and the time
// limit, each turned up, off and up again.
func TestTuneHoldingBack(t *testing.T) {
	const depth, batch = 256, 32
	r := newRig(t)
	r.patient(depth, batch)
	// A batch takes 64 ms to fill: far from a second, far above a millisecond.
	e := r.flood(ctl.RunConfig{Rate: ptr(uint64(500)), Batch: ptr(uint32(1))})
	waits := ctl.ReceiverConfig{LowWater: ptr(uint32(0)), BatchTimeout: ptr(second)}
	for _, hurry := range []ctl.ReceiverConfig{
		{LowWater: ptr(uint32(depth - 1))},
		{BatchTimeout: ptr(ctl.Microseconds(1000))},
		{BatchTimeout: ptr(ctl.Microseconds(0))},
	} {
		r.set(waits)
		if whole, shorter := r.split(batch, 4*batch); whole == 0 || shorter != 0 {
			t.Errorf("waiting: %d whole batches, %d shorter", whole, shorter)
		}
		r.set(hurry)
		if _, shorter := r.split(batch, 4*batch); shorter == 0 {
			t.Errorf("low-water %v, time limit %v: no short batch",
				hurry.LowWater, hurry.BatchTimeout)
		}
	}
	r.finishRun(e)
}
