package e2e

// This file owns what is retuned where the network or the scheduler sees it:
// the RNR timer of live QPs, the CPUs of pollers; and the event of low water.

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// waits is how often a sender was told to wait while one message came in, and
// the most it could have been if each wait took this long.
func (r *rig) waits(each ctl.Microseconds) (told, most uint64) {
	r.t.Helper()
	before, began := r.counter("send_rnr_err"), time.Now()
	r.advance(1)
	told = r.counter("send_rnr_err") - before
	// One more for the wait that had begun before. A tick may come early by
	// less than one.
	return told, uint64(time.Since(began)/(each.Duration()-4*time.Millisecond)) + 1
}

// One slot, held for a quarter of a second, has its sender told to wait again
// and again. More often than waits of 24 ms would allow: then they are shorter.
func TestRNRTimerLive(t *testing.T) {
	const long = ctl.Microseconds(24_000)
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Depth: u32(1), Batch: u32(1), LowWater: u32(0), Hold: ptr(ctl.Microseconds(240_000))})
	tr := r.launch(1, ctl.RunConfig{Batch: u32(1)})
	r.await("messages", func() bool { return r.receiver().Counters.Messages > 2 })
	for _, tt := range []struct{ asked, granted, effective ctl.Microseconds }{
		{640, 640, 4000}, {20_000, 20_480, long}, {10, 10, 4000},
	} {
		r.set(ctl.ReceiverConfig{RNRTimer: &tt.asked})
		if rcv := r.receiver(); rcv.RNRTimer != tt.granted || rcv.RNREffective != tt.effective {
			t.Errorf("asked for %v: %v, in effect %v", tt.asked, rcv.RNRTimer, rcv.RNREffective)
		}
		r.await("the QP's timer", func() bool { return r.conns()[0].RNRTimer == tt.granted })
		r.advance(2) // the last wait of the old kind is over
		if tt.effective < long {
			r.await("more waits than long ones", func() bool {
				told, most := r.waits(long)
				return told > most
			})
			continue
		}
		for range 4 {
			if told, most := r.waits(long); told > most || told == 0 {
				t.Errorf("timer %v: told to wait %d times, at most %d are possible", tt.asked, told, most)
			}
		}
	}
	tr.vanish()
	r.alone()
	r.deleteSoon()
}

// cpusOf is what the scheduler lets a thread run on.
func cpusOf(t *testing.T, pid uint32) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	t.Fatalf("no CPUs in the status of %d", pid)
	return ""
}

// pinned waits until r0's pollers run on these CPUs.
func (r *rig) pinned(want ...string) {
	r.t.Helper()
	pids := r.receiver().PollerPIDs
	if len(pids) != len(want) {
		r.t.Fatalf("pollers %v, want %d", pids, len(want))
	}
	for i, pid := range pids {
		r.await("poller's CPU", func() bool { return cpusOf(r.t, pid) == want[i] })
	}
}

func TestPollersCPUs(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Pollers: u32(3), CPUs: &[]uint32{1, 0}, Sink: ptr(ctl.SinkVerify)})
	r.pinned("1", "0", "1")
	tr := r.flow(3)
	r.set(ctl.ReceiverConfig{CPUs: &[]uint32{0}})
	r.pinned("0", "0", "0")
	if got := r.receiver().CPUs; len(got) != 1 || got[0] != 0 {
		t.Errorf("CPUs: %v", got)
	}
	r.advance(aFlow)
	r.set(ctl.ReceiverConfig{CPUs: &[]uint32{}})
	r.pinned("0-1", "0-1", "0-1")
	if got := r.receiver().CPUs; len(got) != 0 {
		t.Errorf("CPUs: %v", got)
	}
	r.advance(aFlow)
	for _, tt := range []refusal{
		{"no such CPU", ctl.ReceiverConfig{CPUs: &[]uint32{0, 77}}, syscall.EINVAL, "CPU 77 is not online", "cpu"},
		{"too many", ctl.ReceiverConfig{CPUs: ptr(make([]uint32, 17))}, syscall.E2BIG, "at most 16 CPUs, one a poller", "cpu"},
	} {
		tt.cfg.Name = "r0"
		refused(t, r.ctl.Set(r.ctx, tt.cfg), tt.errno, tt.sentence)
	}
	r.pinned("0-1", "0-1", "0-1")
	tr.vanish()
	r.alone()
	r.deleteSoon()
}

// A queue that falls to its low-water mark says so, with the figures, and does
// not go on about it.
func TestLowWaterEvent(t *testing.T) {
	r := newRig(t)
	events := r.listen()
	r.add(ctl.ReceiverConfig{Depth: u32(slots), Batch: u32(4), LowWater: u32(3), Hold: heldFor})
	tr := r.launch(1, ctl.RunConfig{})
	ev := events.next(ctl.EventTypeLowWater)
	var left, mark uint32
	if _, err := fmt.Sscanf(ev.Reason, "%d receives left, low water is %d", &left, &mark); err != nil || left > 3 || mark != 3 {
		t.Errorf("event: %+v", ev)
	}
	if ev.ConnIndex == nil || ev.Ledger == nil {
		t.Errorf("event: %+v", ev)
	}
	tr.vanish()
	r.deleteSoon()
}
