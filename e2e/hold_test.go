package e2e

// This file owns the slow consumer: messages that are held before their slots
// are posted again.

import (
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

const slots = 16

// heldFor holds each message for a time no test waits for.
var heldFor = ptr(ctl.Microseconds(600_000_000))

// filled makes r0 with all slots of n connections HELD.
func (r *rig) filled(n int, sink ctl.Sink) *traffic {
	r.t.Helper()
	r.add(ctl.ReceiverConfig{Depth: u32(slots), Batch: u32(4), Hold: heldFor, Sink: &sink})
	tr := r.launch(n, ctl.RunConfig{})
	r.await("every slot held", func() bool {
		rcv := r.receiver()
		return rcv.Ledger.Held == uint32(n)*slots && rcv.Ledger.Outstanding == 0
	})
	return tr
}

// With every slot held nothing more arrives; once nothing is held any more all
// of it goes on, and no message was lost or came twice.
func TestHoldAndLetGo(t *testing.T) {
	r := newRig(t)
	tr := r.filled(3, ctl.SinkVerify)
	before := r.receiver().Counters
	if before.Messages != 3*slots || before.Verified != 3*slots {
		t.Errorf("with all slots held: %+v", before)
	}
	r.set(ctl.ReceiverConfig{Hold: ptr(ctl.Microseconds(0))})
	r.advance(3 * aFlow)
	if c := r.receiver().Counters; c.Gaps+c.Repeats+c.Damaged+c.Unrecognised != 0 || c.Messages < before.Messages {
		t.Errorf("after: %+v", c)
	}
	tr.vanish()
	r.alone()
	r.deleteSoon()
}

// No slot is posted before its time, and each is soon after it: what one queue
// can take in is bounded by its slots and the hold, from both sides.
func TestHoldForATime(t *testing.T) {
	const hold, fills = 50 * time.Millisecond, 8
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Depth: u32(slots), Batch: u32(1), Hold: ptr(ctl.Microseconds(hold / time.Microsecond)), Sink: ptr(ctl.SinkVerify)})
	run := r.send(ctl.RunConfig{Count: ptr(uint64(slots * fills))})
	// The first fill is there at once, each further one after a hold.
	if least := hold * (fills - 1); run.Elapsed < least {
		t.Errorf("%d messages through %d slots held %v each took %v, less than %v", slots*fills, slots, hold, run.Elapsed, least)
	}
	if most := (hold + time.Second) * fills; run.Elapsed > most {
		t.Errorf("took %v, more than %v", run.Elapsed, most)
	}
	r.intact(r.alone().Counters, slots*fills)
	r.deleteSoon()
}

// A receiver whose slots are all held has nothing to wait for when it ends.
func TestDeleteWithEverySlotHeld(t *testing.T) {
	r := newRig(t)
	for i := range rounds {
		sink := []ctl.Sink{ctl.SinkVerify, ctl.SinkEcho}[i%2]
		tr := r.filled(connsOf(i), sink)
		ledger := r.deleteSoon()
		if ledger.Completed != uint64(connsOf(i)*slots) || ledger.Flushed+ledger.Failed != 0 {
			t.Errorf("round %d: %+v", i, ledger)
		}
		tr.vanish()
		r.runsGone()
	}
}

// Messages that want no answer are let go of however many they are, and not only
// when the next one comes: here the sender has just been told to wait 655 ms.
func TestEchoLetsGoOfMany(t *testing.T) {
	const many = 256 // more than there can be answers on their way
	r := newRig(t)
	r.add(ctl.ReceiverConfig{
		Depth: u32(many), Hold: heldFor, Sink: ptr(ctl.SinkEcho), RNRTimer: ptr(ctl.Microseconds(655_360)),
	})
	tr := r.launch(1, ctl.RunConfig{Size: u32(0)})
	r.await("every slot held", func() bool { return r.receiver().Ledger.Held == many })
	told := r.counter("send_rnr_err")
	r.await("the sender is told to wait", func() bool { return r.counter("send_rnr_err") > told })
	r.set(ctl.ReceiverConfig{Hold: ptr(ctl.Microseconds(0))})
	var rcv ctl.Receiver
	r.await("slots are let go, or more messages", func() bool {
		rcv = r.receiver()
		return rcv.Ledger.Held == 0 || rcv.Counters.Messages > many
	})
	if rcv.Ledger.Outstanding != many || rcv.Counters.Messages != many {
		t.Errorf("ledger %+v after %d messages", rcv.Ledger, rcv.Counters.Messages)
	}
	tr.vanish()
	r.alone()
	r.deleteSoon()
}
