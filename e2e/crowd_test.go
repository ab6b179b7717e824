package e2e

// This file owns crowds: as many connections as a receiver takes, more than it
// takes, and peers that connect and vanish.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rxpost/rxpost/ctl"
)

const (
	crowd   = 128 // connections a receiver takes by default
	callers = 200 // those that want to
)

// addCrowd makes a receiver for a crowd.
func (r *rig) addCrowd() {
	r.t.Helper()
	r.add(ctl.ReceiverConfig{
		Depth: ptr(uint32(32)), SlotSize: ptr(uint32(512)), MaxConns: ptr(uint32(crowd)),
		Pollers: ptr(uint32(2)), Sink: ptr(ctl.SinkVerify), DrainTimeout: minute,
	})
}

// held starts n runs that connect and wait. It returns them connected, or
// ending if they were not let in.
func (r *rig) held(n int, count uint64) []ctl.Run {
	r.t.Helper()
	return r.heldRuns(n, ctl.RunConfig{Count: &count})
}

func (r *rig) heldRuns(n int, cfg ctl.RunConfig) []ctl.Run {
	r.t.Helper()
	cfg.InFlight, cfg.Hold = ptr(uint32(16)), true
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = r.start(cfg)
	}
	ctx, cancel := context.WithTimeout(r.ctx, settleTime)
	defer cancel()
	runs, err := r.ctl.ReadyRuns(ctx, ids...)
	if err != nil {
		r.t.Fatal(err)
	}
	return runs
}

// release lets runs that are held begin, all at once.
func (r *rig) release() {
	r.t.Helper()
	if err := r.ctl.ReleaseRuns(r.ctx); err != nil {
		r.t.Fatal(err)
	}
}

// sentAll waits until runs are done; each must have sent all it was to send.
func (r *rig) sentAll(runs []ctl.Run) {
	r.t.Helper()
	for _, run := range r.ended(runs) {
		if run.Err() != nil || run.Completed != run.Count {
			r.t.Errorf("run %d: sent %d of %d: %v", run.ID, run.Completed, run.Count, run.Err())
		}
	}
}

// ended waits until runs are done and returns them.
func (r *rig) ended(runs []ctl.Run) []ctl.Run {
	r.t.Helper()
	ids := make([]uint32, len(runs))
	for i, run := range runs {
		ids[i] = run.ID
	}
	runs, err := r.ctl.WaitRuns(r.ctx, ids...)
	if err != nil {
		r.t.Fatal(err)
	}
	return runs
}

// fair checks that of runs that went on for the same time none had less than half
// of what they had on average.
func (r *rig) fair(runs []ctl.Run) {
	r.t.Helper()
	var total uint64
	var had []uint64
	for _, run := range runs {
		if run.Err() != nil {
			r.t.Errorf("run %d: %v", run.ID, run.Err())
		}
		had = append(had, run.Completed)
		total += run.Completed
	}
	mean := total / uint64(len(runs))
	r.t.Logf("messages by connection: %d to %d, mean %d", slices.Min(had), slices.Max(had), mean)
	if slices.Min(had) < mean/2 {
		r.t.Errorf("one connection had %d messages, the mean is %d", slices.Min(had), mean)
	}
}

// No connection of a crowd gets less than half of what the others get, no message
// of it is lost or damaged, and of those that are counted all come.
func TestCrowdIsServedFairly(t *testing.T) {
	const count = 200
	r := newRig(t)
	r.addCrowd()
	timed := r.heldRuns(crowd, ctl.RunConfig{Duration: ptr(ctl.Milliseconds(10_000))})
	r.release()
	r.fair(r.ended(timed))
	before := r.alone().Counters
	if before.Gaps+before.Repeats+before.Damaged+before.Unrecognised+before.Bogus != 0 {
		t.Errorf("of runs for a time: %+v", before)
	}

	counted := r.held(crowd, count)
	r.release()
	r.sentAll(counted)
	rcv := r.alone()
	if c := rcv.Counters; c.Messages-before.Messages != crowd*count || c.Verified-before.Verified != crowd*count ||
		c.Gaps+c.Repeats+c.Damaged+c.Unrecognised+c.Bogus != 0 {
		t.Errorf("of %d messages: %+v\nbefore: %+v", crowd*count, c, before)
	}
	r.posted(rcv)
	if c := rcv.Counters; c.Accepted != 2*crowd || c.Rejected != 0 {
		t.Errorf("accepted %d, rejected %d", c.Accepted, c.Rejected)
	}
	r.deleteSoon()
}

// tally counts r0's events by type until its end. Those that were lost on the
// way are in lost.
func (l listen) tally() (seen map[ctl.EventType]uint64, lost uint64, err error) {
	seen = map[ctl.EventType]uint64{}
	for {
		ev, err := l.w.Next()
		switch {
		case err != nil:
			return nil, 0, err
		case ev.Type == ctl.EventTypeLost && ev.Count == 0:
			return nil, 0, errors.New("the listener was too slow")
		case ev.Type == ctl.EventTypeLost:
			lost += ev.Count
		case ev.ReceiverName == "r0":
			seen[ev.Type]++
		}
		if ev.Type == ctl.EventTypeReceiverGone {
			return seen, lost, nil
		}
	}
}

// Two hundred want to connect at once. Those that cannot are told why, and those
// that can work.
func TestMoreThanMaxConnsAtOnce(t *testing.T) {
	const count = 50
	r := newRig(t)
	r.addCrowd()
	events := r.listen()
	told := make(chan error, 1)
	go func() {
		seen, lost, err := events.tally()
		rejected := seen[ctl.EventTypeConnRejected]
		if err == nil && (rejected+lost < callers-crowd || rejected > callers-crowd) {
			err = fmt.Errorf("%d rejections told and %d events lost, of %d", rejected, lost, callers-crowd)
		}
		told <- err
	}()

	in := r.letIn(r.held(callers, count))
	var rcv ctl.Receiver
	r.await("all connects decided", func() bool {
		rcv = r.receiver()
		return rcv.Counters.Accepted+rcv.Counters.Rejected >= callers
	})
	if c := rcv.Counters; rcv.Conns != crowd || c.Accepted != crowd || c.Rejected != callers-crowd {
		t.Errorf("%d connections, accepted %d, rejected %d", rcv.Conns, c.Accepted, c.Rejected)
	}
	r.release()
	r.sentAll(in)
	r.intact(r.alone().Counters, crowd*count)
	r.deleteSoon()
	if err := <-told; err != nil {
		t.Error(err)
	}
}

// letIn returns which runs are connected; the others must have been told why
// they are not.
func (r *rig) letIn(runs []ctl.Run) (in []ctl.Run) {
	r.t.Helper()
	reasons := map[string]int{}
	for _, run := range runs {
		if run.State == ctl.RunStateReady {
			in = append(in, run)
			continue
		}
		run, err := r.ctl.WaitRun(r.ctx, run.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		reasons[run.Reason]++
		if run.Posted != 0 || !errors.Is(run.Err(), syscall.ECONNREFUSED) {
			r.t.Errorf("run: %+v", run)
		}
	}
	want := map[string]int{
		fmt.Sprintf("10.9.0.1:7471 refused the connection: all %d connections are taken", crowd): callers - crowd,
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		r.t.Errorf("rejected (-want +got):\n%s", diff)
	}
	return in
}

// Peers that connect and vanish, at each step of a connection, give their places
// back and leave nothing.
func TestConnectAndVanish(t *testing.T) {
	steps := []func(*rawPeer){
		func(*rawPeer) {}, // has asked
		func(p *rawPeer) { p.expect(cmConnectResponse) },
		(*rawPeer).establish,
	}
	r := newRig(t)
	r.addCrowd()
	for i := range callers {
		p := dialRaw(t)
		p.connect(nil)
		steps[i%len(steps)](p)
		p.die()
	}
	waiting := r.vanished()
	// A place that was lost would be missed now.
	n := crowd - waiting
	runs := r.held(n, 20)
	r.release()
	r.sentAll(runs)
	// The CM may give one of those up meanwhile.
	r.await("all runs gone", func() bool { return r.receiver().Conns <= uint32(waiting) })
	r.intact(r.receiver().Counters, uint64(n)*20)
	l := r.deleteSoon()
	if want := uint64(n) * 20; l.Completed != want || l.Failed != 0 || l.Posted != want+l.Flushed {
		t.Errorf("ledger: %+v", l)
	}
}

// vanished waits until r0 has no connection of peers that are gone, and returns
// of how many it cannot know yet. The CM's workers may handle the REJ of a peer
// that vanished before the REQ that was sent first: then the REJ is for nobody,
// and the CM repeats its REP for a minute before it gives up.
func (r *rig) vanished() (waiting int) {
	r.t.Helper()
	r.await("none but unanswered connections", func() bool {
		conns := r.conns()
		waiting = len(conns)
		for _, c := range conns {
			if c.State != ctl.ConnStateFilled {
				return false
			}
		}
		return true
	})
	r.t.Logf("%d connections wait for the end of a handshake", waiting)
	return waiting
}
