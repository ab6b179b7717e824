package e2e

// This file owns peers that mean harm, or know no better, beside a sender that
// behaves: whatever they do, its stream has no gap and goes on, the books balance,
// and afterwards there is room for others.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

const (
	places     = 32 // connections that the receiver of this file takes
	taken      = "all 32 connections are taken"
	privMax    = 56 // bytes of private data that RoCE leaves in a request
	headerSize = 32 // of an rxpost message

	privMagic, wireMagic = 0x51585231, 0x50585231
)

// hostile is a receiver with one polite sender, and how many others came.
type hostile struct {
	r      *rig
	t      *testing.T
	dice   *rand.Rand
	polite endless
	index  uint32 // of the polite connection
	came   int
	rude   []func(*hostile)
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	r := newRig(t)
	r.ctx = t.Context() // a soak is longer than the rig's time, and each wait has a bound
	r.add(ctl.ReceiverConfig{Depth: u32(smallDepth), SlotSize: u32(smallSlot), MaxConns: u32(places),
		Pollers: u32(2), Sink: ptr(ctl.SinkVerify), DrainTimeout: minute})
	h := &hostile{r: r, t: t, dice: dice(t)}
	h.polite = r.flood(ctl.RunConfig{Rate: ptr(uint64(500)), Batch: u32(4)})
	h.index = r.conns()[0].Index
	h.rude = []func(*hostile){
		(*hostile).vanishes, (*hostile).lies, (*hostile).sendsOddly, (*hostile).speaksEarly, (*hostile).crowds, (*hostile).grabs,
	}
	return h
}

// Each rude thing once at least, in an order that the dice decide, and then again
// as long as there is time.
func TestHostilePeers(t *testing.T) {
	h := newHostile(t)
	end := time.Now().Add(lasting(15 * time.Second))
	for first := true; first || time.Now().Before(end); first = false {
		for _, i := range h.dice.Perm(len(h.rude)) {
			h.rude[i](h)
			h.unharmed()
		}
	}
	h.left()
	h.polite.stop()
	h.r.deleteSoon()
	figure(t, "hostile connections", h.came)
}

// cmGivesUp is longer than the CM repeats a REP that nobody answers.
var cmGivesUp = slowed(2 * time.Minute)

// left waits until the CM has given up every stranger whose end could not be
// known before: none may stay for good.
func (h *hostile) left() {
	h.t.Helper()
	began := time.Now()
	for conns := h.r.conns(); len(conns) != 1; conns = h.r.conns() {
		if time.Since(began) > cmGivesUp {
			h.t.Fatalf("after %v there are still %+v", cmGivesUp, conns)
		}
		time.Sleep(50 * time.Millisecond) // an event may be lost, a reading is not
	}
	h.t.Logf("the last stranger left after %v", time.Since(began).Round(time.Millisecond))
}

// unharmed waits until all strangers are gone whose end can be known yet (see
// vanished), and checks that the polite stream is whole and goes on.
func (h *hostile) unharmed() {
	h.t.Helper()
	h.r.must("only the polite connection", func() error {
		for _, c := range h.r.conns() {
			if c.Index != h.index && c.State != ctl.ConnStateFilled {
				return fmt.Errorf("connection %d is %s", c.Index, c.State)
			}
		}
		return nil
	})
	before := h.politely()
	h.r.await("the polite stream goes on", func() bool { return h.politely() >= before+20 })
}

// politely returns how many messages of the polite sender came, all of them as
// they were sent.
func (h *hostile) politely() uint64 {
	h.t.Helper()
	c, err := h.r.ctl.Conn(h.r.ctx, "r0", h.index)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := c.Ledger.Balanced(); err != nil {
		h.t.Error(err)
	}
	if n := c.Counters; n.Gaps+n.Repeats+n.Damaged+n.Unrecognised+n.Bogus+n.Stale != 0 || n.Verified != n.Messages {
		h.t.Fatalf("the polite stream: %+v", n)
	}
	return c.Counters.Messages
}

// private throws private data of a length: noise, or what rxpost_send would send,
// or that with one field wrong.
func (h *hostile) private(length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(h.dice.Uint32())
	}
	kind, field, wrong := h.dice.IntN(3), h.dice.IntN(8), h.dice.Uint32()
	if kind == 0 || length < 8 {
		return b
	}
	copy(b, words(privMagic, 1)) // magic and version
	if kind == 2 && 4*field+4 <= length {
		binary.NativeEndian.PutUint32(b[4*field:], wrong)
	}
	return b
}

// vanishes goes away at each step there is, with private data of each length in
// the course of time.
func (h *hostile) vanishes() {
	h.t.Helper()
	for step := range 5 {
		p := dialRaw(h.t)
		if step > 0 {
			h.came++
			p.connect(h.private(h.dice.IntN(privMax + 1)))
		}
		switch step {
		case 2: // has our answer
			p.expect(cmConnectResponse)
		case 3: // is connected
			p.establish()
		case 4: // is told that its queue pair is not there, or goes in order
			p.establish()
			p.ask(ucmDisconnect, p.name(), 0, 0)
		}
		p.die()
	}
}

// crowds sends more requests than there are places and answers no reply: those
// beyond are refused in words, and when the crowd is gone there is room.
func (h *hostile) crowds() {
	h.t.Helper()
	const beyond = 8
	// Places that are taken for those whose end is not known yet.
	waiting := len(h.r.conns()) - 1
	var crowd []*rawPeer
	for range places - 1 + beyond {
		crowd = append(crowd, dialRaw(h.t))
	}
	for _, p := range crowd {
		h.came++
		p.connect(h.private(h.dice.IntN(privMax + 1)))
	}
	refused := 0
	for _, p := range crowd {
		switch got := p.next(); {
		case got.event == cmConnectResponse:
		case got.event == cmRejected && sentenceIn(got.private) == taken:
			refused++
		default:
			h.t.Errorf("CM event %d, status %d, says %q", got.event, got.status, sentenceIn(got.private))
		}
	}
	if refused < beyond || refused > beyond+waiting {
		h.t.Errorf("%d were refused, not %d, and up to %d more", refused, beyond, waiting)
	}
	for _, p := range crowd {
		p.die()
	}
}

// sentenceIn is what a receiver says in a reject.
func sentenceIn(private []byte) string {
	text, _, _ := bytes.Cut(private, []byte{0})
	return string(text)
}

// sendsOddly is rxpost_send told to do what no receiver wants.
func (h *hostile) sendsOddly() {
	h.t.Helper()
	cfg := ctl.RunConfig{
		Opcode:   ptr([]ctl.Opcode{ctl.OpcodeSend, ctl.OpcodeSendImm, ctl.OpcodeSendInv, ctl.OpcodeWrite, ctl.OpcodeWriteImm}[h.dice.IntN(5)]),
		Size:     u32([]uint32{0, 1, headerSize - 1, smallSlot, smallSlot + 1, 4096, 1 << 20}[h.dice.IntN(7)]),
		Count:    ptr(1 + h.dice.Uint64N(20)),
		InFlight: u32(16), Batch: u32(1 + h.dice.Uint32N(16)),
	}
	key, addr := h.dice.Uint32(), h.dice.Uint64()
	switch *cfg.Opcode {
	case ctl.OpcodeSendInv:
		cfg.RKey = &key
	case ctl.OpcodeWrite, ctl.OpcodeWriteImm:
		cfg.RKey, cfg.RemoteAddr = &key, &addr
	}
	h.came++
	run, err := h.r.ctl.WaitRun(h.r.ctx, h.r.start(cfg))
	if err != nil {
		h.t.Fatal(err)
	}
	if err := runSettled(run); err != nil {
		h.t.Error(err)
	}
	fits := *cfg.Size <= smallSlot && *cfg.Opcode <= ctl.OpcodeSendImm
	// One that ends by its first message is not established yet, and the CM
	// rejects it, without a word.
	ended := run.Err() == nil || errors.Is(run.Err(), syscall.EIO) || errors.Is(run.Err(), syscall.ECONNRESET) ||
		run.Reason == "10.9.0.1:7471 refused the connection: consumer defined"
	if fits && run.Err() != nil || !ended {
		h.t.Errorf("%v of %d bytes ended with %v", *cfg.Opcode, *cfg.Size, run.Err())
	}
	if cfg.RemoteAddr != nil && *cfg.Size > 0 && run.Completed > 0 {
		h.t.Errorf("%d WRITEs to guessed memory were acknowledged", run.Completed)
	}
}

// lies sends messages of our own kind with a header that is not true.
func (h *hostile) lies() {
	h.t.Helper()
	q := h.queuePair()
	h.establishes(q)
	for range 1 + h.dice.IntN(8) {
		size := h.dice.IntN(smallSlot + 1)
		for i := range q.buf.bytes[:size] {
			q.buf.bytes[i] = byte(h.dice.Uint32())
		}
		// magic, length, sequence: right, or as they fell
		if h.dice.IntN(4) > 0 && size >= 16 {
			copy(q.buf.bytes, words(wireMagic, uint32(size)))
		}
		if status := q.post(message{opcode: wrSend, bytes: size}); status != wcSuccess {
			h.t.Errorf("a message of %d bytes: status %d", size, status)
		}
	}
	q.die()
}

// speaksEarly never says that it is connected, and sends. What it sends is taken:
// data can be faster than the CM.
func (h *hostile) speaksEarly() {
	h.t.Helper()
	q := h.queuePair()
	q.expect(cmConnectResponse)
	q.to(qpsRTR)
	q.to(qpsRTS)
	const early = 5
	for range early {
		if status := q.post(message{opcode: wrSend, bytes: smallSlot}); status != wcSuccess {
			h.t.Errorf("status %d", status)
		}
	}
	h.r.must("early messages", func() error {
		// Others may still be there, whose end is not known yet.
		conns := h.r.conns()
		i := slices.IndexFunc(conns, func(c ctl.Conn) bool { return c.QPN == q.peer })
		if i < 0 {
			return fmt.Errorf("no QP %d among %+v", q.peer, conns)
		}
		if c := conns[i]; c.Counters.Messages != early || c.State != ctl.ConnStateFilled {
			return fmt.Errorf("connection: %+v", c)
		}
		return nil
	})
	q.die()
}

// grabs reads and writes what it has no right to: with a key that exists, of
// memory that exists, but is another's, and with keys that it guesses. The device
// ends its connection, and what is there stays as it was.
func (h *hostile) grabs() {
	h.t.Helper()
	owner := openVerbs(h.t)
	canary := owner.register(1<<12, accessLocalWrite|accessRemoteWrite|accessRemoteRead)
	for i := range canary.bytes {
		canary.bytes[i] = byte(i)
	}
	untouched := bytes.Clone(canary.bytes)
	for _, opcode := range []uint32{wrWrite, wrRead} {
		for _, guess := range []message{
			{rkey: canary.rkey, remote: canary.addr()},
			{rkey: h.dice.Uint32(), remote: canary.addr()},
			// The keys of a device are numbered, with eight bits of noise.
			{rkey: h.dice.Uint32N(64 << 8), remote: h.dice.Uint64() | 0xffff<<48},
		} {
			q := h.queuePair()
			h.establishes(q)
			copy(q.buf.bytes, strings.Repeat("rude", 16))
			mine := bytes.Clone(q.buf.bytes[:64])
			guess.opcode, guess.bytes = opcode, 64
			if status := q.post(guess); status == wcSuccess {
				h.t.Errorf("%+v succeeded", guess)
			}
			if !bytes.Equal(q.buf.bytes[:64], mine) {
				h.t.Errorf("%+v read %x", guess, q.buf.bytes[:64])
			}
			q.die()
		}
	}
	if !bytes.Equal(canary.bytes, untouched) {
		h.t.Error("another's memory was written to")
	}
	owner.close()
}

// queuePair makes a queue pair that has sent its request.
func (h *hostile) queuePair() *rawQP {
	h.t.Helper()
	q := dialQP(h.t)
	h.came++
	q.connectQP(q.qpn, h.private(h.dice.IntN(privMax+1)))
	return q
}

// establishes connects it as it should be.
func (h *hostile) establishes(q *rawQP) {
	h.t.Helper()
	q.expect(cmConnectResponse)
	q.to(qpsRTR)
	q.to(qpsRTS)
	q.readyToUse()
}

// A key that is right lets nobody in who may not write: the receiver's queue pair
// has no memory of that key, even when it was not told to forbid remote access.
func TestHostileKeyOfAnother(t *testing.T) {
	h := newHostile(t)
	h.r.fault("access", 1<<20)
	h.grabs()
	h.unharmed()
	h.polite.stop()
	h.r.deleteSoon()
}

// Private data of every length there can be, of each kind.
func TestHostilePrivateData(t *testing.T) {
	h := newHostile(t)
	for length := range privMax + 1 {
		p := dialRaw(t)
		h.came++
		p.connect(h.private(length))
		p.establish()
		p.die()
	}
	h.unharmed()
	h.polite.stop()
	h.r.deleteSoon()
	figure(t, "hostile connections", h.came)
}

// A peer that never answers our reply keeps its place no longer than the receiver
// is told to bear silence.
func TestHostileHalfOpen(t *testing.T) {
	h := newHostile(t)
	events := h.r.listen()
	idle := ctl.Milliseconds(slowed(time.Second) / time.Millisecond)
	h.r.set(ctl.ReceiverConfig{IdleTimeout: &idle})
	var peers []*rawPeer
	for range places - 1 {
		p := dialRaw(t)
		h.came++
		p.connect(nil)
		peers = append(peers, p)
	}
	for range peers {
		if ev := events.next(ctl.EventTypeConnDown); ev.Reason != fmt.Sprintf("nothing received for %d ms (idle-timeout)", idle) {
			t.Errorf("event: %+v", ev)
		}
	}
	h.unharmed()
	for _, p := range peers {
		p.die()
	}
	h.polite.stop()
	h.r.deleteSoon()
	figure(t, "hostile connections", h.came)
}
