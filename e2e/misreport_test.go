package e2e

// This file owns devices that misreport: completions that are for nobody, and a
// completion queue that overflows. All of it is fault points.

import (
	"strings"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// What no wr_id of ours says is counted, and changes nothing.
func TestCompletionsForNobody(t *testing.T) {
	const times = 9
	for _, c := range []struct {
		point string
		stale bool
	}{
		{point: "index"},
		{point: "slot"},
		{point: "kind"},
		{point: "generation", stale: true},
	} {
		t.Run(c.point, func(t *testing.T) {
			r := newRig(t)
			r.add(ctl.ReceiverConfig{Depth: ptr(uint32(64)), Sink: ptr(ctl.SinkVerify)})
			e := r.flood(ctl.RunConfig{})
			r.fault(c.point, times)
			r.await("completions for nobody", func() bool {
				n := r.receiver().Counters
				return n.Bogus+n.Stale >= times
			})
			r.advance(fewer(500))
			run := e.stop()
			rcv := r.alone()
			want := ctl.Counters{Bogus: times}
			if c.stale {
				want = ctl.Counters{Stale: times}
			}
			if n := rcv.Counters; n.Bogus != want.Bogus || n.Stale != want.Stale {
				t.Errorf("%d bogus, %d stale; want %d and %d", n.Bogus, n.Stale, want.Bogus, want.Stale)
			}
			rcv.Counters.Bogus, rcv.Counters.Stale = 0, 0
			r.intact(rcv.Counters, run.Posted)
			r.posted(rcv)
			figure(t, "faults injected", times)
			r.delete()
		})
	}
}

// overflow lets the CQ of one of r0's two connections fail, and returns the
// index of the other, which goes on.
func (r *rig) overflow(events listen) (other uint32) {
	r.t.Helper()
	r.fault("overflow", 1)
	down := events.next(ctl.EventTypeConnDown)
	if down.Reason != "the completion queue failed" || down.Ledger.Reclaimed != 0 {
		r.t.Errorf("event: %+v, ledger %+v", down, *down.Ledger)
	}
	figure(r.t, "faults injected", 1)
	r.othersGoOn(1, 100)
	return 1 - *down.ConnIndex
}

// A CQ that overflows ends its connections and no other; new ones are served by
// those that work.
func TestCQOverflow(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{
		Depth: ptr(uint32(64)), MaxConns: u32(4), Pollers: u32(2), Sink: ptr(ctl.SinkVerify), DrainTimeout: minute,
	})
	events := r.listen()
	first := r.flow(2)
	works := r.overflow(events)
	// Four places, of which the two of the failed CQ are none.
	second := r.launch(1, ctl.RunConfig{})
	r.othersGoOn(2, 100)
	for _, c := range r.conns() {
		if c.Poller != works {
			t.Errorf("connection %d is on poller %d, whose CQ failed", c.Index, c.Poller)
		}
	}
	got := r.rejected(events, ctl.RunConfig{})
	if want := ": a completion queue has failed"; !strings.HasSuffix(got, want) {
		t.Errorf("says %q, not %q", got, want)
	}
	ledger := r.deleteSoon()
	first.ended(peerLeft).and(second.ended(peerLeft)).received(t, ledger)
	// Another receiver has CQs of its own.
	r.works()
}
