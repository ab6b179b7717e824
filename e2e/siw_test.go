package e2e

// This file owns what is true of iWARP alone, as siw does it: an empty queue ends
// the connection, nobody is told to wait, a device has smaller bounds.

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// A message that finds no receive ends its connection, on both sides in words.
// What came before it is received and accounted for; a neighbour goes on.
func TestEmptyQueueEndsConnection(t *testing.T) { onSIW(t, emptyQueueEndsConnection) }

func emptyQueueEndsConnection(t *testing.T, r *rig) {
	const fill, rounds, count = 32, 5, 20
	events := r.listen()
	r.add(ctl.ReceiverConfig{Depth: u32(fill), Batch: u32(1), Hold: heldFor, Sink: ptr(ctl.SinkVerify)})
	neighbour := r.held(1, count)
	for range rounds {
		// With every slot held, the message after the last one is too many.
		loud := r.launch(1, ctl.RunConfig{})
		loud.ended(peerLeft)
		down := events.next(ctl.EventTypeConnDown)
		if down.Reason != r.leaves() {
			t.Errorf("event: %+v", down)
		}
		if l := down.Ledger; l.Completed != fill || l.Posted != fill || l.Outstanding != 0 || l.Reclaimed != 0 {
			t.Errorf("ledger: %+v", *l)
		}
	}
	r.release()
	r.sentAll(neighbour)
	c := r.alone().Counters
	if c.Accepted != rounds+1 || c.Messages != rounds*fill+count || c.Verified != c.Messages {
		t.Errorf("counters: %+v", c)
	}
	r.deleteSoon()
}

// The sender is held back by nothing but the answers of a round trip, and they
// suffice: with as many messages under way as there are receives but a batch, no
// queue runs empty, at full speed.
func TestRoundTripsPaceThemselves(t *testing.T) { onSIW(t, roundTripsPaceThemselves) }

func roundTripsPaceThemselves(t *testing.T, r *rig) {
	const count, inFlight, batch = 3000, 64, 16
	r.add(ctl.ReceiverConfig{Depth: u32(inFlight + 2*batch), Batch: u32(batch), Sink: ptr(ctl.SinkEcho)})
	run := r.send(ctl.RunConfig{RoundTrip: true, InFlight: u32(inFlight), Count: ptr(uint64(count))})
	r.answered(run, count)
	if c := r.alone().Counters; c.Messages != count {
		t.Errorf("%d messages of %d came", c.Messages, count)
	}
	r.deleteSoon()
}

// siw's bounds are not rxe's, and the sentences have its numbers.
func TestBoundsOfSIW(t *testing.T) { onSIW(t, boundsOfSIW) }

func boundsOfSIW(t *testing.T, r *rig) {
	const most = 32768
	for _, tt := range []refusal{
		{"depth", ctl.ReceiverConfig{Depth: u32(most + 1), SlotSize: u32(64), MaxConns: u32(1)}, syscall.E2BIG,
			"depth-max 32769 is above siw0's limit of 32768", "depth"},
		{"segments", ctl.ReceiverConfig{Segments: make7()}, syscall.E2BIG,
			"a slot of 7 segments is beyond siw0, which takes 6 a receive", "segment"},
		{"RNR timer", ctl.ReceiverConfig{RNRTimer: ptr(ctl.Microseconds(640))}, syscall.EOPNOTSUPP,
			"siw0 is iWARP, which has no RNR timer", "rnr-timer-us"},
		{"RNR retries", ctl.ReceiverConfig{RNRRetry: u32(7)}, syscall.EOPNOTSUPP,
			"siw0 is iWARP, which has no RNR to retry after", "rnr-retry"},
	} {
		tt.cfg.Name, tt.cfg.Addr = "r0", listenAddr
		r.refuses(tt, func() error { _, err := r.ctl.Add(r.ctx, tt.cfg); return err })
	}
	// What the sentence allows, works, and all of it is really there: so many
	// messages come though none of their slots is posted again.
	r.add(ctl.ReceiverConfig{Depth: u32(most), SlotSize: u32(64), MaxConns: u32(1), Batch: u32(256), Hold: heldFor})
	r.send(ctl.RunConfig{Count: ptr(uint64(2000)), Rate: ptr(uint64(100_000))})
	if c := r.alone().Counters; c.Messages != 2000 {
		t.Errorf("%d messages of 2000 came", c.Messages)
	}
	r.refuses(refusal{"RNR timer, live", ctl.ReceiverConfig{}, syscall.EOPNOTSUPP,
		"siw0 is iWARP, which has no RNR timer", "rnr-timer-us"}, func() error {
		return r.ctl.Set(r.ctx, ctl.ReceiverConfig{Name: "r0", RNRTimer: ptr(ctl.Microseconds(640))})
	})
	r.deleteSoon()
}

func make7() []uint32 { return []uint32{8, 8, 8, 8, 8, 8, 8} }

// What has no meaning on iWARP is not shown as a number.
func TestNoRNRIsShown(t *testing.T) { onSIW(t, noRNRIsShown) }

func noRNRIsShown(t *testing.T, r *rig) {
	rcv := r.add(r.deep(ctl.ReceiverConfig{}))
	if rcv.RNRTimer != 0 || rcv.RNRRetry != nil || rcv.RNREffective != 0 {
		t.Errorf("receiver: %+v", rcv)
	}
	tr := r.flow(1)
	if conns := r.conns(); len(conns) != 1 || conns[0].RNRTimer != 0 {
		t.Errorf("connections: %+v", conns)
	}
	const none = "none: on iWARP a message that finds no receive ends its connection\n"
	for _, args := range []string{"recv show r0", "stats r0"} {
		out, stderr, status := r.rxctl(strings.Fields(args)...)
		if status != 0 || stderr != "" || !strings.Contains(out, none) {
			t.Errorf("rxctl %s: exit status %d, %q, printed:\n%s", args, status, stderr, out)
		}
	}
	tr.vanish()
	r.deleteSoon()
}

// The opcodes that iWARP has not are refused by the sender's device; those that
// want a key end their connection and nobody else's.
func TestOpcodesOnIWARP(t *testing.T) { onSIW(t, opcodesOnIWARP) }

func opcodesOnIWARP(t *testing.T, r *rig) {
	const (
		noImm  = "device siw0 cannot do opcode %s: iWARP has no immediate data"
		noRead = "device siw0 cannot do opcode %s: a READ on iWARP wants a key that may be written from afar"
	)
	r.add(r.deep(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)}))
	stay := r.floods(2, ctl.RunConfig{Rate: ptr(uint64(100))})
	for op, sentence := range map[ctl.Opcode]string{
		ctl.OpcodeSendImm: noImm, ctl.OpcodeWriteImm: noImm, ctl.OpcodeRead: noRead,
	} {
		run, err := r.ctl.WaitRun(r.ctx, r.start(ctl.RunConfig{Opcode: &op, Count: ptr(uint64(1))}))
		if err != nil {
			t.Fatal(err)
		}
		refused(t, run.Err(), syscall.EOPNOTSUPP, fmt.Sprintf(sentence, op))
	}
	for _, op := range []ctl.Opcode{ctl.OpcodeWrite, ctl.OpcodeSendInv} {
		r.launch(1, ctl.RunConfig{Opcode: &op, RKey: u32(0x1234)}).ended(peerLeft)
		r.othersGoOn(2, 20)
	}
	sent := stopAll(stay)
	if c := r.alone().Counters; c.Verified != sent || c.Imm+c.WriteImm+c.Damaged+c.Gaps+c.Repeats+c.Bogus+c.Stale != 0 {
		t.Errorf("of %d messages: %+v", sent, c)
	}
	r.deleteSoon()
}

// A receiver's device goes, and one of the other kind comes with its address: the
// receiver takes it, says what it cannot have there, and has it again later.
func TestDeviceComesBackAsAnother(t *testing.T) {
	noneParked(t)
	onSIW(t, deviceComesBackAsAnother)
}

func deviceComesBackAsAnother(t *testing.T, r *rig) {
	const timer, again = ctl.Microseconds(1280), "listening on 10.9.0.1:7471 again"
	swap := func(d device, says string) ctl.Receiver {
		t.Helper()
		events := r.listen()
		r.unplug(events)
		r.device = d
		r.addDevice()
		if ev := events.next(ctl.EventTypeDeviceBack); ev.Reason != says || ev.Device != d.name {
			t.Errorf("event: %+v, want %q", ev, says)
		}
		events.close()
		return r.receiver()
	}
	r.add(r.deep(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)}))
	if rcv := swap(rxe(), again); rcv.RNRRetry == nil || *rcv.RNRRetry != 7 || rcv.RNRTimer != 640 {
		t.Errorf("on rxe: %+v", rcv)
	}
	r.set(ctl.ReceiverConfig{RNRTimer: ptr(timer)})
	for range 2 {
		if rcv := swap(siw(), again+"; on iWARP, without RNR"); rcv.RNRRetry != nil || rcv.RNRTimer+rcv.RNREffective != 0 {
			t.Errorf("on siw: %+v", rcv)
		}
		r.send(ctl.RunConfig{Count: ptr(uint64(100))})
		if rcv := swap(rxe(), again); rcv.RNRTimer != timer || rcv.RNREffective < timer {
			t.Errorf("on rxe again: %+v", rcv)
		}
		r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	}
	r.intact(r.alone().Counters, 400)
	r.baseline = nil // of a device that is gone; the new one is checked empty
	r.deleteSoon()
	r.baseline = r.resources()
	if all, err := rdma.Host().List(); err != nil || len(all) != 1 {
		t.Errorf("devices: %+v, %v", all, err)
	}
}
