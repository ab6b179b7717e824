package e2e

// This file owns the books in every reading, and many connections at once.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// floods starts n runs without end; every one must be up.
func (r *rig) floods(n int, cfg ctl.RunConfig) []endless {
	r.t.Helper()
	all := make([]endless, n)
	for i := range all {
		all[i] = endless{r, r.start(cfg)}
	}
	r.await(fmt.Sprintf("%d connections live", n), func() bool {
		live := 0
		for _, c := range r.conns() {
			if c.State == ctl.ConnStateLive && c.Counters.Messages > 0 {
				live++
			}
		}
		return live == n
	})
	return all
}

// stopAll ends runs, all at once, and returns how many messages they sent.
func stopAll(all []endless) uint64 {
	for _, e := range all {
		e.halt()
	}
	var sent uint64
	for _, e := range all {
		sent += e.wait().Posted
	}
	return sent
}

// sums checks that the receiver's books are those of its connections, past ones
// included. None comes or goes meanwhile, so the connections, read in between,
// lie between two readings of the receiver.
func (r *rig) sums(past ...ctl.Ledger) {
	r.t.Helper()
	var posted, completed uint64
	for _, l := range past {
		posted += l.Posted
		completed += l.Completed
	}
	before := r.receiver()
	var slots uint32
	for _, c := range r.conns() {
		posted += c.Ledger.Posted
		completed += c.Ledger.Completed
		slots += c.Ledger.Slots
	}
	after := r.receiver()
	if slots != before.Ledger.Slots || slots != after.Ledger.Slots {
		r.t.Errorf("slots of connections %d, of the receiver %d", slots, before.Ledger.Slots)
	}
	if posted < before.Ledger.Posted || posted > after.Ledger.Posted ||
		completed < before.Ledger.Completed || completed > after.Ledger.Completed {
		r.t.Errorf("connections: posted %d, completed %d; the receiver before: %+v; after: %+v",
			posted, completed, before.Ledger, after.Ledger)
	}
}

// Every reading balances: in traffic, while the depth moves, while connections
// come and go, while the receiver goes.
func TestLedgerInEveryReading(t *testing.T) {
	r := newRig(t)
	stop := hammer(t, ctl.Ledger.Balanced)
	for range 2 {
		r.add(ctl.ReceiverConfig{
			Depth: ptr(uint32(128)), Batch: ptr(uint32(8)), Pollers: ptr(uint32(2)),
		})
		stay := r.floods(2, ctl.RunConfig{})
		for i := range min(6, rounds) {
			e := r.start(ctl.RunConfig{Count: ptr(uint64(50))})
			r.set(ctl.ReceiverConfig{Depth: ptr(uint32(16 + 100*(i%2)))})
			r.advance(fewer(300))
			if run, err := r.ctl.WaitRun(r.ctx, e); err != nil || run.Err() != nil {
				t.Fatal(err, run.Err())
			}
		}
		// The receiver goes first: its peers are cut off in full flight.
		// How many receives are flushed depends on who was faster; it can be
		// none, when the peers had just used up all of them.
		ledger := r.delete()
		if ledger.Failed != 0 || ledger.Reclaimed != 0 {
			t.Errorf("deleted under traffic: ledger %+v", ledger)
		}
		for _, e := range stay {
			if run, err := r.ctl.WaitRun(r.ctx, e.id); err != nil || run.Err() == nil {
				t.Errorf("run %d outlived its receiver: %v", run.ID, err)
			}
		}
	}
	receivers, conns := stop()
	t.Logf("%d readings of a receiver, %d of a connection", receivers, conns)
	if receivers < 50 || conns < 50 {
		t.Errorf("%d readings of a receiver, %d of a connection: too few", receivers, conns)
	}
}

// A dump too long for one message is taken up where it stopped: while none
// comes or goes, each connection is in it once.
func TestConnDumpIsComplete(t *testing.T) {
	const n = 40
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Depth: ptr(uint32(4)), Pollers: ptr(uint32(2))})
	all := r.floods(n, ctl.RunConfig{
		Rate: ptr(uint64(2)), InFlight: ptr(uint32(1)),
	})
	for range 20 {
		seen := map[uint32]int{}
		qpns := map[uint32]bool{}
		for _, c := range r.conns() {
			seen[c.Index]++
			qpns[c.QPN] = true
		}
		if len(seen) != n || len(qpns) != n {
			t.Errorf("%d indices, %d QPs in a dump of %d", len(seen), len(qpns), n)
		}
		for index, times := range seen {
			if times != 1 {
				t.Errorf("connection %d appears %d times", index, times)
			}
		}
	}
	r.sums()
	stopAll(all)
	r.delete()
}

// Connections share pollers, and one that ends leaves the others alone.
func TestManyConnections(t *testing.T) { eachDevice(t, manyConnections) }

func manyConnections(t *testing.T, d device) {
	for _, pollers := range []uint32{1, 3} {
		t.Run(fmt.Sprintf("pollers_%d", pollers), func(t *testing.T) {
			const n = 6
			r := newRigOn(t, d)
			rcv := r.add(r.deep(ctl.ReceiverConfig{
				Depth: ptr(uint32(64)), Pollers: &pollers, Sink: ptr(ctl.SinkVerify),
			}))
			if len(rcv.PollerPIDs) != int(pollers) {
				t.Errorf("pollers: %v", rcv.PollerPIDs)
			}
			var cfg ctl.RunConfig
			if !r.iwarp { // which is paced, see there
				cfg.InFlight = u32(16)
			}
			all := r.floods(n, cfg)
			perPoller := map[uint32]int{}
			for _, c := range r.conns() {
				perPoller[c.Poller]++
			}
			for p := range pollers {
				if perPoller[p] != n/int(pollers) {
					t.Errorf("connections by poller: %v", perPoller)
				}
			}
			r.sums()
			events := r.listen()
			sent := stopAll(all[:2])
			r.othersGoOn(n-2, 50)
			r.sums(*events.next(ctl.EventTypeConnDown).Ledger,
				*events.next(ctl.EventTypeConnDown).Ledger)
			sent += stopAll(all[2:])
			rcv = r.alone()
			r.intact(rcv.Counters, sent)
			r.posted(rcv)
			r.delete()
		})
	}
}

// othersGoOn waits until n connections are left and each has had that many
// messages since.
func (r *rig) othersGoOn(n int, messages uint64) {
	r.t.Helper()
	var before []ctl.Conn
	r.await(fmt.Sprintf("%d connections left", n), func() bool {
		before = r.conns()
		return len(before) == n
	})
	had := map[uint32]uint64{}
	for _, c := range before {
		had[c.Index] = c.Counters.Messages
	}
	r.await("each goes on", func() bool {
		on := 0
		for _, c := range r.conns() {
			if c.Counters.Messages >= had[c.Index]+messages {
				on++
			}
		}
		return on == n
	})
}

// Above max-conns a peer is told no, in words; when one leaves there is room.
func TestMaxConns(t *testing.T) { onEachDevice(t, maxConns) }

func maxConns(t *testing.T, r *rig) {
	const n = 4
	r.add(r.deep(ctl.ReceiverConfig{
		Depth: ptr(uint32(32)), MaxConns: ptr(uint32(n)), Sink: ptr(ctl.SinkVerify),
	}))
	all := r.floods(n, ctl.RunConfig{InFlight: ptr(uint32(8))})
	events := r.listen()
	for range 3 {
		reason := r.rejected(events, ctl.RunConfig{Count: ptr(uint64(10))})
		if want := fmt.Sprintf("all %d connections are taken", n); !strings.Contains(reason, want) {
			t.Errorf("says %q, not %q", reason, want)
		}
	}
	r.othersGoOn(n, 50)
	sent := all[0].stop().Posted
	r.othersGoOn(n-1, 50)
	const more = 200
	r.send(ctl.RunConfig{Count: ptr(uint64(more))})
	sent += more + stopAll(all[1:])
	c := r.alone().Counters
	r.intact(c, sent)
	if c.Accepted != n+1 || c.Rejected != 3 {
		t.Errorf("accepted %d, rejected %d", c.Accepted, c.Rejected)
	}
	r.delete()
}
