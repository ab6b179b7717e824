package e2e

// This file owns drains that are lost: QPs that never flush, and QPs that do not
// even stop receiving. Each ends in drain-timeout; its slots are reclaimed, with
// one warning, and only after the QP is gone: with noerr messages keep coming until
// then. KASAN does not see rxe's memcpy() into a page that was freed too early if
// gcc is older than 13 (6.12 mm/kasan/shadow.c:41); CONFIG_DEBUG_PAGEALLOC does.

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// lossTimeout is the drain-timeout of these tests.
const lossTimeout = 500 * time.Millisecond

// lossPoints are fault points that lose a drain. With noerr the QP receives to
// its end: slowly, or it would use up its receives and be drained by that.
var lossPoints = []string{"noflush", "noerr"}

// eachLoss runs a test for each point on each device, but for what iWARP cannot
// do: a QP whose TCP has ended receives no more.
func eachLoss(t *testing.T, endsTCP bool, test func(t *testing.T, r *rig, point string)) {
	t.Helper()
	for _, point := range lossPoints {
		t.Run(point, func(t *testing.T) {
			for _, d := range devices(t) {
				if point == "noerr" && d.iwarp && endsTCP {
					continue
				}
				t.Run(d.kind, func(t *testing.T) { test(t, newRigOn(t, d), point) })
			}
		})
	}
}

// addLossy makes r0, whose drains are lost from then on, and n slow connections.
func (r *rig) addLossy(point string, n int) *traffic {
	r.t.Helper()
	r.add(ctl.ReceiverConfig{
		Sink: ptr(ctl.SinkVerify), DrainTimeout: ptr(ctl.Milliseconds(lossTimeout.Milliseconds())),
	})
	tr := r.launch(n, ctl.RunConfig{
		Rate: ptr(uint64(100)), Batch: ptr(uint32(1)), DrainTimeout: ptr(ctl.Milliseconds(100)),
	})
	r.othersGoOn(n, 5)
	r.fault(point, 1)
	return tr
}

// lost checks what is said of one connection whose drain was lost: one event,
// then its end with all that was outstanding reclaimed, and one warning.
func (r *rig) lost(events listen, log kernelLog) ctl.Event {
	r.t.Helper()
	expired := events.next(ctl.EventTypeDrainExpired)
	var n, ms uint32
	_, err := fmt.Sscanf(expired.Reason, "%d receives outstanding after %d ms", &n, &ms)
	// A QP that goes on receiving may do so between the sentence and the ledger.
	if err != nil || int64(ms) != lossTimeout.Milliseconds() || n == 0 || n < expired.Ledger.Outstanding {
		r.t.Errorf("says %q, with ledger %+v", expired.Reason, *expired.Ledger)
	}
	down := events.next(ctl.EventTypeConnDown)
	if down.QPN != expired.QPN {
		r.t.Errorf("the drain of QP %d expired, QP %d is down", expired.QPN, down.QPN)
	}
	if err := down.Ledger.Balanced(); err != nil {
		r.t.Error(err)
	}
	if l := down.Ledger; l.Reclaimed == 0 || l.Outstanding != 0 || l.Free != l.Slots {
		r.t.Errorf("ledger %+v", *l)
	}
	if took := down.Time.Sub(expired.Time); took > slack {
		r.t.Errorf("down %v after its drain expired", took)
	}
	log.reclaimed(r.device, down)
	return down
}

// timely checks that an end took the drain-timeout, and not much longer.
func timely(t *testing.T, took time.Duration) {
	t.Helper()
	if took < lossTimeout || took > lossTimeout+slack {
		t.Errorf("it took %v", took)
	}
}

func TestLostDrainOfDeletion(t *testing.T) { eachLoss(t, false, lostDrainOfDeletion) }

func lostDrainOfDeletion(t *testing.T, r *rig, point string) {
	events, log := r.listen(), newKernelLog(t)
	tr := r.addLossy(point, 1)
	began := time.Now()
	ledger := r.delete()
	timely(t, time.Since(began))
	down := r.lost(events, log)
	// The slots of a connection that is down are freed.
	last := *down.Ledger
	last.Free, last.Slots = 0, 0
	if ledger != last {
		t.Errorf("receiver's ledger %+v, its connection's %+v", ledger, *down.Ledger)
	}
	r.leave(tr)
	r.fault(point, 0)
	r.works()
}

// leave closes the socket of runs whose peer may have gone without a word.
func (r *rig) leave(tr *traffic) {
	r.t.Helper()
	tr.vanish()
	r.runsGone()
}

// Of several connections one peer goes; the others notice nothing.
func TestLostDrainOfOnePeer(t *testing.T) { eachLoss(t, true, lostDrainOfOnePeer) }

func lostDrainOfOnePeer(t *testing.T, r *rig, point string) {
	events, log := r.listen(), newKernelLog(t)
	one := r.addLossy(point, 1)
	r.fault(point, 0)
	stay := r.launch(neighbours, ctl.RunConfig{Rate: ptr(uint64(500))})
	r.othersGoOn(neighbours+1, 5)
	r.fault(point, 1)
	one.vanish()
	r.lost(events, log)
	r.othersGoOn(neighbours, 50)
	r.noGap()
	r.fault(point, 0)
	// They flush as ever.
	ledger := r.deleteReclaiming()
	stay.ended(peerLeft)
	if lines := log.lines("reclaimed"); len(lines) != 0 {
		t.Errorf("of those that stayed the kernel says %q", lines)
	}
	if ledger.Failed != 0 {
		t.Errorf("ledger: %+v", ledger)
	}
}

// deleteReclaiming is deleteSoon of a receiver that reclaimed before.
func (r *rig) deleteReclaiming() (ledger ctl.Ledger) {
	r.t.Helper()
	before := r.receiver().Ledger.Reclaimed
	r.set(ctl.ReceiverConfig{DrainTimeout: minute})
	bounded(r.t, "recv del", slack, func() error {
		ledger = r.delete()
		return nil
	})
	if ledger.Reclaimed != before {
		r.t.Errorf("%d receives reclaimed before, then %d", before, ledger.Reclaimed)
	}
	return ledger
}

func TestLostDrainOfDevice(t *testing.T) { eachLoss(t, true, lostDrainOfDevice) }

func lostDrainOfDevice(t *testing.T, r *rig, point string) {
	events, log := r.listen(), newKernelLog(t)
	tr := r.addLossy(point, 1)
	began := time.Now()
	bounded(t, "link del", lossTimeout+slack, func() error { return rdma.Host().Delete(r.device.name) })
	timely(t, time.Since(began))
	r.lost(events, log)
	events.next(ctl.EventTypeDeviceGone)
	if rcv := r.receiver(); rcv.State != ctl.ReceiverStateNoDevice || rcv.Mappings != 0 || rcv.Memory != 0 {
		t.Errorf("receiver: %+v", rcv)
	}
	r.leave(tr)
	r.fault(point, 0)
	r.addDevice()
	events.next(ctl.EventTypeDeviceBack)
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteReclaiming()
}

// The unloading of the module ends as the deletion does.
func TestLostDrainOfModule(t *testing.T) { eachLoss(t, false, lostDrainOfModule) }

func lostDrainOfModule(t *testing.T, r *rig, point string) {
	log := newKernelLog(t)
	tr := r.addLossy(point, 1)
	began := time.Now()
	bounded(t, "rmmod", lossTimeout+slack, func() error {
		out, err := exec.Command("rmmod", "rxpost_recv").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	timely(t, time.Since(began))
	// Nobody is left to hear of it but the log, once.
	if lines := log.lines("reclaimed"); len(lines) != 1 {
		t.Errorf("the kernel says %q", lines)
	}
	r.atBaseline()
	modprobe(t, "rxpost_recv") // its fault points are at rest
	r.reconnect()
	r.leave(tr)
	r.works()
}
