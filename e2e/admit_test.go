package e2e

// This file owns who may connect, by address, and who may stay, by silence.

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

func prefixes(list ...string) *[]netip.Prefix {
	p := []netip.Prefix{}
	for _, s := range list {
		p = append(p, netip.MustParsePrefix(s))
	}
	return &p
}

// rejectedRun starts a run that must be refused with this sentence.
func (r *rig) rejectedRun(sentence string) {
	r.t.Helper()
	run, err := r.ctl.WaitRun(r.ctx, r.start(ctl.RunConfig{Count: ptr(uint64(1))}))
	if err != nil {
		r.t.Fatal(err)
	}
	if want := "10.9.0.1:7471 refused the connection: " + sentence; run.Reason != want {
		r.t.Errorf("run ended with %q, want %q", run.Reason, want)
	}
}

// Sender and receiver share one address here, 10.9.0.1.
func TestAllowList(t *testing.T) { onEachDevice(t, allowList) }

func allowList(t *testing.T, r *rig) {
	const stranger = "the peer's address is not allowed"
	events := r.listen()
	r.add(ctl.ReceiverConfig{Allow: prefixes("10.8.0.0/24", "10.9.0.77/32")})
	r.rejectedRun(stranger)
	if ev := events.next(ctl.EventTypeConnRejected); ev.Reason[len(ev.Reason)-len(stranger):] != stranger {
		t.Errorf("event: %+v", ev)
	}
	rcv := r.receiver()
	if rcv.Counters.Rejected != 1 || rcv.Counters.Accepted != 0 || rcv.Memory != 0 || rcv.Conns != 0 {
		t.Errorf("receiver: %+v", rcv)
	}

	// Bits behind the prefix do not count, and are not shown.
	r.set(ctl.ReceiverConfig{Allow: prefixes("10.8.0.0/24", "10.9.0.254/24")})
	if got := r.receiver().Allow; len(got) != 2 || got[1] != netip.MustParsePrefix("10.9.0.0/24") {
		t.Errorf("allowed: %v", got)
	}
	flow := r.flow(1)
	// Who is in stays in.
	r.set(ctl.ReceiverConfig{Allow: prefixes("10.9.0.0/32")})
	r.rejectedRun(stranger)
	r.advance(aFlow)
	r.set(ctl.ReceiverConfig{Allow: prefixes("0.0.0.0/0")})
	r.send(ctl.RunConfig{Count: ptr(uint64(10))})
	r.set(ctl.ReceiverConfig{Allow: prefixes("10.9.0.0/31")})
	r.send(ctl.RunConfig{Count: ptr(uint64(10))})
	r.set(ctl.ReceiverConfig{Allow: prefixes("10.9.0.0/32")})
	r.set(ctl.ReceiverConfig{Allow: prefixes()})
	r.send(ctl.RunConfig{Count: ptr(uint64(10))})
	if got := r.receiver().Allow; len(got) != 0 {
		t.Errorf("allowed: %v", got)
	}
	flow.vanish()
	r.deleteSoon()
}

func TestAllowListRefused(t *testing.T) {
	r := newRig(t)
	long := []string{}
	for range 17 {
		long = append(long, "10.9.0.0/24")
	}
	for _, tt := range []refusal{
		{"other family", ctl.ReceiverConfig{Allow: prefixes("fd00::/8")}, syscall.EINVAL,
			"the receiver's peers have IPv4 addresses, the prefix has not", "allow"},
		{"too many", ctl.ReceiverConfig{Allow: prefixes(long...)}, syscall.E2BIG,
			"at most 16 prefixes can be allowed", "allow"},
	} {
		cfg := tt.cfg
		cfg.Name, cfg.Addr = "r0", listenAddr
		r.refuses(tt, func() error {
			_, err := r.ctl.Add(r.ctx, cfg)
			return err
		})
	}
	r.add(ctl.ReceiverConfig{Allow: prefixes(long[:16]...)})
	if got := r.receiver().Allow; len(got) != 16 {
		t.Errorf("allowed: %v", got)
	}
	r.delete()
}

// A peer that is silent too long is let go, in words; one that talks is not.
func TestIdleTimeout(t *testing.T) {
	idle := slowed(300 * time.Millisecond)
	r := newRig(t)
	events := r.listen()
	r.add(ctl.ReceiverConfig{IdleTimeout: ptr(ctl.Milliseconds(idle / time.Millisecond))})
	// Twenty messages a second are not silence.
	talks := r.launch(1, ctl.RunConfig{Rate: ptr(uint64(20)), Batch: u32(1)})
	r.await("messages", func() bool { return r.receiver().Counters.Messages > 2 })
	began := time.Now()
	peer := dialRaw(t)
	peer.connect(nil)
	peer.establish()
	ev := events.next(ctl.EventTypeConnDown)
	if ev.Reason != fmt.Sprintf("nothing received for %d ms (idle-timeout)", idle.Milliseconds()) {
		t.Errorf("event: %+v", ev)
	}
	if took := time.Since(began); took < idle || took > idle+slack {
		t.Errorf("let go after %v", took)
	}
	peer.expect(cmDisconnected)
	if conns := r.conns(); len(conns) != 1 || conns[0].State != ctl.ConnStateLive {
		t.Errorf("connections: %+v", conns)
	}
	talks.vanish()
	r.alone()

	// Who waits for us is not silent.
	r.set(ctl.ReceiverConfig{Hold: heldFor})
	waits := r.launch(1, ctl.RunConfig{})
	r.await("every slot held", func() bool { return r.receiver().Ledger.Held == 256 })
	time.Sleep(2 * idle) // nothing may happen meanwhile, which no condition tells
	if conns := r.conns(); len(conns) != 1 || conns[0].State != ctl.ConnStateLive {
		t.Errorf("connections: %+v", conns)
	}
	r.set(ctl.ReceiverConfig{Hold: ptr(ctl.Microseconds(0))})
	waits.vanish()
	r.alone()

	// Live: off, then on for a connection that is silent already.
	r.set(ctl.ReceiverConfig{IdleTimeout: ptr(ctl.Milliseconds(0))})
	peer = dialRaw(t)
	peer.connect(nil)
	peer.establish()
	time.Sleep(2 * idle) // nothing may happen meanwhile, which no condition tells
	if conns := r.conns(); len(conns) != 1 || conns[0].State != ctl.ConnStateLive {
		t.Fatalf("connections: %+v", conns)
	}
	r.set(ctl.ReceiverConfig{IdleTimeout: ptr(ctl.Milliseconds(1))})
	peer.expect(cmDisconnected)
	r.alone()
	r.deleteSoon()
}

// A peer that takes no answers holds what it sent, and its place, until it is let go
// as one that is silent.
func TestIdleWithoutTakingAnswers(t *testing.T) {
	idle := slowed(300 * time.Millisecond)
	r := newRig(t)
	events := r.listen()
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkEcho), IdleTimeout: ptr(ctl.Milliseconds(idle / time.Millisecond))})
	tr := r.launch(1, ctl.RunConfig{}) // which has no receives
	ev := events.next(ctl.EventTypeConnDown)
	if want := fmt.Sprintf("nothing received for %d ms (idle-timeout)", idle.Milliseconds()); ev.Reason != want {
		t.Errorf("says %q, not %q", ev.Reason, want)
	}
	r.leave(tr)
	r.deleteSoon()
}
