package e2e

// This file owns the end of a receiver while peers are at it: by deletion, by
// their death and by removal of the device. Each is repeated, because what can
// go wrong is a race.

import (
	"fmt"
	"testing"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

const (
	rounds   = 10
	peerLeft = "the peer closed the connection"
)

// minute is a drain-timeout that no teardown here may need: all bounds are far
// below.
var minute = ptr(ctl.Milliseconds(60_000))

// connsOf is how many connections a round has: one, then several.
func connsOf(round int) int { return 1 + round%2*3 }

func TestDeleteUnderTraffic(t *testing.T) {
	r := newRig(t)
	var flushed uint64
	for i := range rounds {
		r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), Pollers: ptr(uint32(1 + i%4/2))})
		tr := r.flow(connsOf(i))
		ledger := r.deleteSoon()
		if ledger.Failed != 0 || ledger.Reclaimed != 0 {
			t.Errorf("ledger: %+v", ledger)
		}
		flushed += ledger.Flushed
		tr.ended(peerLeft)
	}
	// Not in every round: a sender can use up all receives just before, while
	// the poller is kept off its CPU.
	if flushed == 0 {
		t.Errorf("no receive was outstanding in %d deletions under traffic", rounds)
	}
}

// Runs are started and the receiver is deleted when i connections exist, which
// is anywhere between the first request and the last one established.
func TestDeleteWhileConnecting(t *testing.T) {
	r := newRig(t)
	for i := range rounds {
		r.add(ctl.ReceiverConfig{DrainTimeout: minute})
		tr := r.launch(rounds, ctl.RunConfig{ConnectTimeout: ptr(ctl.Milliseconds(4000))})
		r.must(fmt.Sprint(i, " connections"), func() error {
			rcv, err := r.ctl.Receiver(r.ctx, "r0")
			if err == nil && rcv.Conns < uint32(i) {
				err = fmt.Errorf("%d", rcv.Conns)
			}
			return err
		})
		r.deleteSoon()
		// What was accepted and not yet established the CM rejects itself,
		// without a reason.
		tr.ended(peerLeft, "no one listens at 10.9.0.1:7471",
			"10.9.0.1:7471 refused the connection: the receiver was deleted",
			"10.9.0.1:7471 refused the connection: the receiver is closing",
			"10.9.0.1:7471 refused the connection: consumer defined",
			// It came while the run's end was being established.
			"no connection to 10.9.0.1:7471: connect error",
			// The CM dropped it: its workers may handle a REJ before the
			// REP that was sent first, and then know no such connection.
			`a send failed with "transport retry counter exceeded": the peer does not answer any more`)
	}
}

// In every other round the receiver is deleted without having noticed yet.
func TestDeleteAfterPeerDied(t *testing.T) {
	r := newRig(t)
	for i := range rounds {
		r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
		tr := r.flow(connsOf(i))
		tr.vanish()
		if i%2 == 0 {
			r.must("no connection", func() error {
				if rcv := r.receiver(); rcv.Conns != 0 {
					return fmt.Errorf("%d", rcv.Conns)
				}
				return nil
			})
		}
		if ledger := r.deleteSoon(); ledger.Failed != 0 {
			t.Errorf("ledger: %+v", ledger)
		}
	}
	r.runsGone()
}

func TestDeviceRemovedUnderTraffic(t *testing.T) {
	r := newRig(t)
	for i := range rounds {
		r.add(ctl.ReceiverConfig{DrainTimeout: minute})
		tr := r.flow(connsOf(i))
		events := r.listen()
		bounded(t, "link del", slack, func() error { return rdma.Host().Delete(deviceName) })
		ev := events.next(ctl.EventTypeDeviceGone)
		if ev.Reason != "rxe0 was removed" || ev.Device != deviceName {
			t.Errorf("event: %+v", ev)
		}
		// Either end may notice first.
		tr.ended(peerLeft, "device rxe0 was removed")
		if rcv := r.receiver(); rcv.State != ctl.ReceiverStateNoDevice || rcv.Conns != 0 || rcv.Mappings != 0 {
			t.Errorf("receiver: %+v", rcv)
		}
		if err := r.ctl.Set(r.ctx, ctl.ReceiverConfig{Name: "r0", Batch: ptr(uint32(8))}); err != nil {
			t.Error(err)
		}
		r.deleteSoon()
		r.addDevice()
	}
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	r.send(ctl.RunConfig{Count: ptr(uint64(500))})
	r.delete()
}
