package e2e

// This file owns the end of a receiver while peers are at it: by deletion, by
// their death and by removal of the device. Each is repeated, because what can
// go wrong is a race. Every round checks the books, that nothing is left on the
// device, and that no time-out was needed.

import (
	"fmt"
	"testing"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

const (
	peerLeft = "the peer closed the connection"

	smallDepth, smallSlot = 64, 512
)

// minute is a drain-timeout that no teardown here may need: all bounds are far
// below.
var minute = ptr(ctl.Milliseconds(60_000))

// connsOf is how many connections a round has: one, then several.
func connsOf(round int) int { return 1 + round%2*3 }

// addSmall makes a receiver that is quickly made: a round is short, and its
// queues are used up several times.
func (r *rig) addSmall(cfg ctl.ReceiverConfig) {
	r.t.Helper()
	cfg.Depth, cfg.SlotSize, cfg.MaxConns = ptr(uint32(smallDepth)), ptr(uint32(smallSlot)), ptr(uint32(8))
	r.add(r.deep(cfg))
}

func TestDeleteUnderTraffic(t *testing.T) { onEachDevice(t, deleteUnderTraffic) }

func deleteUnderTraffic(t *testing.T, r *rig) {
	inUse := 0
	for i := range rounds {
		r.addSmall(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), Pollers: ptr(uint32(1 + i%4/2))})
		tr := r.flow(connsOf(i))
		ledger := r.deleteSoon()
		tr.ended(peerLeft).received(t, ledger)
		if ledger.Flushed > 0 {
			inUse++
		}
		r.atBaseline()
	}
	t.Logf("receives were outstanding in %d of %d deletions", inUse, rounds)
	// Not in every round: a sender can use up all receives just before, while
	// the poller is kept off its CPU. A few rounds say nothing about it.
	if inUse < rounds/5 {
		t.Errorf("receives were outstanding in %d of %d deletions under traffic", inUse, rounds)
	}
	figure(t, "teardown cycles", rounds)
}

// Runs are started and the receiver is deleted when some connections exist,
// which is anywhere between the first request and the last one established.
func TestDeleteWhileConnecting(t *testing.T) {
	const (
		senders    = 8
		nobody     = "no one listens at 10.9.0.1:7471"
		wasDeleted = "10.9.0.1:7471 refused the connection: the receiver was deleted"
		isClosing  = "10.9.0.1:7471 refused the connection: the receiver is closing"
	)
	r := newRig(t)
	ends := map[string]int{}
	for i := range rounds {
		r.addSmall(ctl.ReceiverConfig{DrainTimeout: minute})
		tr := r.launch(senders, ctl.RunConfig{ConnectTimeout: ptr(ctl.Milliseconds(4000))})
		r.must(fmt.Sprint(i%senders, " connections"), func() error {
			rcv, err := r.ctl.Receiver(r.ctx, "r0")
			if err == nil && rcv.Conns < uint32(i%senders) {
				err = fmt.Errorf("%d", rcv.Conns)
			}
			return err
		})
		ledger := r.deleteSoon()
		// What was accepted and not yet established the CM rejects itself,
		// without a reason.
		runs := tr.ended(peerLeft, nobody, wasDeleted, isClosing,
			"10.9.0.1:7471 refused the connection: consumer defined",
			// It came while the run's end was being established.
			"no connection to 10.9.0.1:7471: connect error",
			// The CM dropped it: its workers may handle a REJ before the
			// REP that was sent first, and then know no such connection.
			`a send failed with "transport retry counter exceeded": the peer does not answer any more`)
		runs.received(t, ledger)
		for _, run := range runs.runs {
			ends[run.Reason]++
			switch run.Reason {
			case nobody, wasDeleted, isClosing:
				if run.Posted != 0 {
					t.Errorf("run %d had a connection: %+v", run.ID, run)
				}
			}
		}
		r.atBaseline()
	}
	for end, n := range ends {
		t.Logf("%4d %s", n, end)
	}
	// Only if some were up and some were not was any in the making.
	if up := ends[peerLeft]; up == 0 || up == rounds*senders {
		t.Errorf("of %d connections %d were up when their receiver was deleted", rounds*senders, up)
	}
	figure(t, "teardown cycles", rounds)
}

// In every other round the receiver is deleted without having noticed yet.
func TestDeleteAfterPeerDied(t *testing.T) {
	r := newRig(t)
	for i := range rounds {
		r.addSmall(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
		client := r.debianClient()
		kill(t, client)
		if i%2 == 0 {
			r.alone()
		}
		ledger := r.deleteSoon()
		done{runs: []ctl.Run{{Posted: 1, Completed: 1}}}.received(t, ledger)
		r.atBaseline()
	}
	figure(t, "teardown cycles", rounds)
}

// The same, with peers that were sending; their ends are in order.
func TestDeleteAfterPeersLeft(t *testing.T) { onEachDevice(t, deleteAfterPeersLeft) }

func deleteAfterPeersLeft(t *testing.T, r *rig) {
	for i := range rounds {
		r.addSmall(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
		tr := r.flow(connsOf(i))
		tr.vanish()
		if i%2 == 0 {
			r.alone()
		}
		if ledger := r.deleteSoon(); ledger.Failed != 0 {
			t.Errorf("ledger: %+v", ledger)
		}
		r.runsGone()
		r.atBaseline()
	}
	figure(t, "teardown cycles", rounds)
}

func TestDeviceRemovedUnderTraffic(t *testing.T) { onEachDevice(t, deviceRemovedUnderTraffic) }

func deviceRemovedUnderTraffic(t *testing.T, r *rig) {
	for i := range rounds {
		r.addSmall(ctl.ReceiverConfig{DrainTimeout: minute})
		tr := r.flow(connsOf(i))
		events := r.listen()
		bounded(t, "link del", slack, func() error { return rdma.Host().Delete(r.device.name) })
		ev := events.next(ctl.EventTypeDeviceGone)
		if ev.Reason != r.device.name+" was removed" || ev.Device != r.device.name {
			t.Errorf("event: %+v", ev)
		}
		events.close()
		// Either end may notice first.
		runs := tr.ended(peerLeft, r.removed())
		rcv := r.receiver()
		if rcv.State != ctl.ReceiverStateNoDevice || rcv.Conns != 0 || rcv.Mappings != 0 {
			t.Errorf("receiver: %+v", rcv)
		}
		runs.received(t, rcv.Ledger)
		runs.flushed(t)
		if err := r.ctl.Set(r.ctx, ctl.ReceiverConfig{Name: "r0", Batch: ptr(uint32(8))}); err != nil {
			t.Error(err)
		}
		r.deleteSoon()
		r.addDevice()
		r.atBaseline()
	}
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	r.send(ctl.RunConfig{Count: ptr(uint64(500))})
	r.delete()
	figure(t, "teardown cycles", rounds)
	figure(t, "removals under traffic", rounds)
}
