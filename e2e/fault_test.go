package e2e

// This file owns what goes wrong rarely: posts refused in part or whole,
// completions lost, late or repeated, mappings that fail. The grant is a real
// driver's refusal; the others are fault points.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// posted checks that the books agree with what was handed over and refused.
func (r *rig) posted(rcv ctl.Receiver) {
	r.t.Helper()
	c, l := rcv.Counters, rcv.Ledger
	if c.PostWRs-c.RefusedWRs != l.Posted {
		r.t.Errorf("handed over %d, refused %d, but posted %d",
			c.PostWRs, c.RefusedWRs, l.Posted)
	}
	if l.Posted != l.Completed+l.Flushed || l.Failed != 0 || l.Reclaimed != 0 {
		r.t.Errorf("ledger %+v", l)
	}
}

// refusals checks that all refused calls are in the histogram, under one errno.
func (r *rig) refusals(errno syscall.Errno) {
	r.t.Helper()
	calls := r.receiver().Counters.RefusedCalls
	byErrno := r.stats().Errno
	if len(byErrno) != 1 || syscall.Errno(byErrno[0].Errno) != errno ||
		byErrno[0].Count != calls {
		r.t.Errorf("%d calls refused, by errno %v; want all as %v", calls, byErrno, errno)
	}
}

// rxe gives a QP for 15 receives room for 15, and the receiver thinks of 32.
func TestPartialSuccess(t *testing.T) {
	const granted, depth = 15, 32
	r := newRig(t)
	r.fault("grant", granted)
	r.add(ctl.ReceiverConfig{Depth: ptr(uint32(depth)), Sink: ptr(ctl.SinkVerify)})
	// More than was granted can be outstanding for a moment: rxe gives a place back
	// before it reports the message (rxe_resp.c, do_complete()).
	stop := hammer(t, ctl.Ledger.Balanced)

	e := r.flood(ctl.RunConfig{Rate: ptr(uint64(20)), Batch: ptr(uint32(1))})
	r.await("as much posted as was granted", func() bool {
		c := r.conns()[0]
		return c.RQAsked == depth && c.RQGranted == granted &&
			c.Ledger.Outstanding == granted && c.Ledger.Free == depth-granted
	})
	r.backsOff()
	slow := e.stop()
	r.alone()
	// Too much in flight for 15: now it is the prefixes that keep it going.
	e = r.flood(ctl.RunConfig{})
	r.advance(fewer(500))
	fast := e.stop()
	rcv := r.alone()
	readings, _ := stop()
	t.Logf("%d readings, refused %d receives in %d calls",
		readings, rcv.Counters.RefusedWRs, rcv.Counters.RefusedCalls)
	r.intact(rcv.Counters, slow.Posted+fast.Posted)
	r.posted(rcv)
	r.refusals(syscall.ENOMEM)
	r.delete()
}

// backsOff checks that a refused post is repeated no oftener than each
// millisecond.
func (r *rig) backsOff() {
	r.t.Helper()
	const calls = 30
	begin := time.Now()
	before := r.receiver().Counters.RefusedCalls
	var more uint64
	r.await("the refused rest is offered again", func() bool {
		more = r.receiver().Counters.RefusedCalls - before
		return more >= calls
	})
	if most := uint64(time.Since(begin)/time.Millisecond) + 1; more > most {
		r.t.Errorf("refused %d times where %d were due", more, most)
	}
}

// rejected starts a run that must be rejected and returns what is said of it:
// in the event, and by the sender.
func (r *rig) rejected(l listen, cfg ctl.RunConfig) string {
	r.t.Helper()
	before := r.receiver().Counters.Rejected
	ctx, cancel := context.WithTimeout(r.ctx, settleTime)
	defer cancel()
	run, err := r.ctl.WaitRun(ctx, r.start(cfg))
	if err != nil {
		r.t.Fatal(err)
	}
	if !errors.Is(run.Err(), syscall.ECONNREFUSED) || run.Completed != 0 {
		r.t.Errorf("%d messages sent: %v", run.Completed, run.Err())
	}
	reason := l.next(ctl.EventTypeConnRejected).Reason
	if n := r.receiver().Counters.Rejected - before; n != 1 {
		r.t.Errorf("rejected %d connections, not 1", n)
	}
	r.t.Logf("%s; the sender: %v", reason, run.Err())
	return reason
}

// nothingHeld checks that no memory and no mapping is left without connections.
func (r *rig) nothingHeld() {
	r.t.Helper()
	if rcv := r.alone(); rcv.Mappings != 0 || rcv.Memory != 0 {
		r.t.Errorf("%d mappings, %d bytes held", rcv.Mappings, rcv.Memory)
	}
}

// A connection that cannot be had is refused in words; the next one works.
func TestFirstFillFails(t *testing.T) { eachDevice(t, firstFillFails) }

func firstFillFails(t *testing.T, d device) {
	for _, c := range []struct {
		point string
		times int
		says  string
	}{
		// A refused fill is tried again, so as often as it may be.
		{"untouched", math.MaxInt32, "cannot post the first receives (-105)"},
		{"map", 1, "cannot make the receive slots (-5)"},
		{"qp", 1, "cannot create a QP of that depth (-12)"},
	} {
		t.Run(c.point, func(t *testing.T) {
			r := newRigOn(t, d)
			r.add(ctl.ReceiverConfig{Depth: ptr(uint32(16)), Sink: ptr(ctl.SinkVerify)})
			events := r.listen()
			r.fault(c.point, c.times)
			reason := r.rejected(events, ctl.RunConfig{Count: ptr(uint64(100))})
			if !strings.Contains(reason, c.says) {
				t.Errorf("says %q, not %q", reason, c.says)
			}
			r.nothingHeld()
			r.fault(c.point, 0)
			r.send(ctl.RunConfig{Count: ptr(uint64(100))})
			r.intact(r.alone().Counters, 100)
			r.nothingHeld()
			if l := r.delete(); l.Reclaimed != 0 {
				t.Errorf("ledger %+v", l)
			}
		})
	}
}

// A driver that fails a post and does not write bad_wr has accepted nothing; one
// that is full in the middle of a chain has accepted what is before bad_wr.
func TestRefusedUnderTraffic(t *testing.T) {
	for point, errno := range map[string]syscall.Errno{
		"untouched": syscall.EINVAL,
		"refuse":    syscall.ENOMEM,
	} {
		t.Run(point, func(t *testing.T) {
			onEachDevice(t, func(t *testing.T, r *rig) { refusedUnderTraffic(t, r, point, errno) })
		})
	}
}

func refusedUnderTraffic(t *testing.T, r *rig, point string, errno syscall.Errno) {
	const times = 20
	r.add(r.deep(ctl.ReceiverConfig{Depth: ptr(uint32(64)), Sink: ptr(ctl.SinkVerify)}))
	e := r.flood(ctl.RunConfig{})
	r.fault(point, times)
	r.await("posts refused", func() bool {
		return r.receiver().Counters.RefusedCalls == times
	})
	r.advance(fewer(1000))
	run := e.stop()
	rcv := r.alone()
	r.intact(rcv.Counters, run.Posted)
	r.posted(rcv)
	r.refusals(errno)
	if n := rcv.Counters.RefusedWRs; n < times {
		t.Errorf("%d calls refused %d receives", times, n)
	}
	figure(t, "faults injected", times)
	r.delete()
}

// stale runs one connection whose flushes come late, and another one, of the
// same index, that must not notice. A drain that had time has seen all of them;
// one that expired at once may destroy the QP before rxe has flushed it, and
// what was not flushed never comes.
func (r *rig) stale(hadTime bool) {
	r.t.Helper()
	messages := r.some(500)
	events, log := r.listen(), newKernelLog(r.t)
	r.fault("late", 64)
	// Slow, so that the end finds the queue full.
	e := r.flood(ctl.RunConfig{Rate: ptr(uint64(200)), Batch: ptr(uint32(1))})
	r.advance(20)
	sent := e.stop().Posted
	first := events.next(ctl.EventTypeConnDown)
	if l := first.Ledger; l.Reclaimed == 0 || l.Flushed != 0 || l.Outstanding != 0 {
		r.t.Errorf("ledger %+v", *l)
	}
	log.reclaimed(r.device, first)
	r.fault("late", 0)

	again := ctl.RunConfig{Count: &messages}
	if r.iwarp { // the queue cannot be deep: the fault point keeps 64 flushes
		again.Rate, again.Batch = ptr(uint64(100)), ptr(uint32(1))
	}
	r.send(again)
	second := events.next(ctl.EventTypeConnDown)
	if *first.ConnIndex != *second.ConnIndex {
		r.t.Errorf("index %d, then %d", *first.ConnIndex, *second.ConnIndex)
	}
	if l := second.Ledger; l.Completed != messages || l.Reclaimed != 0 {
		r.t.Errorf("the second: ledger %+v", *l)
	}
	c := r.alone().Counters
	r.t.Logf("%d reclaimed, %d stale", first.Ledger.Reclaimed, c.Stale)
	if c.Stale > first.Ledger.Reclaimed || hadTime && c.Stale != first.Ledger.Reclaimed {
		r.t.Errorf("%d stale completions of %d reclaimed", c.Stale, first.Ledger.Reclaimed)
	}
	c.Stale = 0
	r.intact(c, sent+messages)
	r.delete()
}

func TestStaleAfterDrainTimeout(t *testing.T) { onEachDevice(t, staleAfterDrainTimeout) }

func staleAfterDrainTimeout(t *testing.T, r *rig) {
	r.add(ctl.ReceiverConfig{
		Depth: ptr(uint32(32)), Sink: ptr(ctl.SinkVerify),
		DrainTimeout: ptr(ctl.Milliseconds(1000)),
	})
	r.stale(true)
}

func TestStaleAfterExpiry(t *testing.T) { onEachDevice(t, staleAfterExpiry) }

func staleAfterExpiry(t *testing.T, r *rig) {
	r.add(ctl.ReceiverConfig{Depth: ptr(uint32(32)), Sink: ptr(ctl.SinkVerify)})
	r.fault("expire", 1)
	r.stale(false)
}

// Receives whose completions never come are given up after drain-timeout.
func TestLostCompletions(t *testing.T) { onEachDevice(t, lostCompletions) }

func lostCompletions(t *testing.T, r *rig) {
	const lost, messages, timeout = 5, 1000, 400
	r.add(r.deep(ctl.ReceiverConfig{
		Depth: ptr(uint32(64)), Sink: ptr(ctl.SinkVerify),
		DrainTimeout: ptr(ctl.Milliseconds(timeout)),
	}))
	events, log := r.listen(), newKernelLog(t)
	r.fault("lose", lost)
	e := r.flood(ctl.RunConfig{})
	r.advance(fewer(messages))
	ending := time.Now()
	run := e.stop()
	expired := events.next(ctl.EventTypeDrainExpired)
	if want := fmt.Sprintf("%d receives outstanding after %d ms", lost, timeout); expired.Reason != want {
		t.Errorf("says %q, not %q", expired.Reason, want)
	}
	down := events.next(ctl.EventTypeConnDown)
	// The emulation may be slow; the drain must not be what takes long.
	if d := expired.Time.Sub(ending); d < timeout*time.Millisecond ||
		d > slowed(3*time.Second) {
		t.Errorf("expired after %v", d)
	}
	if d := down.Time.Sub(expired.Time); d > slowed(2*time.Second) {
		t.Errorf("down %v after the drain expired", d)
	}
	if l := down.Ledger; l.Reclaimed != lost || l.Outstanding != 0 {
		t.Errorf("ledger %+v", *l)
	}
	log.reclaimed(r.device, down)
	c := r.alone().Counters
	if c.Messages != run.Posted-lost || c.Verified != c.Messages || c.Gaps != lost {
		t.Errorf("of %d messages: %+v", run.Posted, c)
	}
	r.delete()
}

// A completion that comes twice is counted and changes nothing.
func TestRepeatedCompletions(t *testing.T) { onEachDevice(t, repeatedCompletions) }

func repeatedCompletions(t *testing.T, r *rig) {
	const times = 7
	r.add(r.deep(ctl.ReceiverConfig{Depth: ptr(uint32(64)), Sink: ptr(ctl.SinkVerify)}))
	e := r.flood(ctl.RunConfig{})
	r.fault("repeat", times)
	r.advance(fewer(1000))
	run := e.stop()
	rcv := r.alone()
	if rcv.Counters.Bogus != times {
		t.Errorf("%d bogus completions, not %d", rcv.Counters.Bogus, times)
	}
	rcv.Counters.Bogus = 0
	r.intact(rcv.Counters, run.Posted)
	r.posted(rcv)
	r.delete()
}
