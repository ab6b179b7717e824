package e2e

// This file owns the modules' exit under traffic.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// reconnect takes a client that knows nothing of the families' former numbers.
func (r *rig) reconnect() {
	r.t.Helper()
	if err := r.ctl.Close(); err != nil {
		r.t.Error(err)
	}
	c, err := ctl.New()
	if err != nil {
		r.t.Fatal(err)
	}
	r.ctl = c
}

// works receives a few messages with a receiver made for that.
func (r *rig) works() {
	r.t.Helper()
	r.add(r.deep(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)}))
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	if ledger := r.delete(); ledger.Completed != 100 {
		r.t.Errorf("ledger: %+v", ledger)
	}
}

func TestUnloadReceiverUnderTraffic(t *testing.T) { onEachDevice(t, unloadReceiverUnderTraffic) }

func unloadReceiverUnderTraffic(t *testing.T, r *rig) {
	log := newKernelLog(t)
	for i := range rounds {
		r.addSmall(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), DrainTimeout: minute})
		tr := r.flow(connsOf(i))
		rmmod(t, "rxpost_recv")
		tr.ended(peerLeft)
		r.atBaseline()
		// Nobody is left to ask for the ledger, but receives that do not come
		// back are warned of.
		if lines := log.lines("rxpost_recv:"); len(lines) != 0 {
			t.Errorf("the kernel says %q", lines)
		}
		modprobe(t, "rxpost_recv")
		r.reconnect()
	}
	r.works()
	figure(t, "teardown cycles", rounds)
	figure(t, "removals under traffic", rounds)
}

func TestUnloadSenderUnderTraffic(t *testing.T) { onEachDevice(t, unloadSenderUnderTraffic) }

func unloadSenderUnderTraffic(t *testing.T, r *rig) {
	for i := range rounds {
		r.addSmall(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
		n := connsOf(i)
		done := joinGroup(t, "rxpost_send", "events")
		tr := r.flow(n)
		rmmod(t, "rxpost_send")
		for range n {
			if got := done.sentence(); got != "rxpost_send is being unloaded" {
				t.Errorf("a run ended with %q", got)
			}
		}
		done.close()
		tr.vanish()
		if ledger := r.deleteSoon(); ledger.Failed != 0 {
			t.Errorf("ledger: %+v", ledger)
		}
		r.atBaseline()
		modprobe(t, "rxpost_send")
		r.reconnect()
	}
	r.works()
	figure(t, "teardown cycles", rounds)
	figure(t, "removals under traffic", rounds)
}

// Whoever waits for a run hears how the run ended, not that the module is gone.
func TestUnloadSenderTellsWaiter(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	type result struct {
		stderr string
		status int
	}
	sent := make(chan result, 1)
	go func() {
		_, stderr, status := r.rxctl("send", listenAddr.String())
		sent <- result{stderr, status}
	}()
	r.must("traffic", func() error {
		if n := r.receiver().Counters.Messages; n < aFlow {
			return fmt.Errorf("%d messages", n)
		}
		return nil
	})
	rmmod(t, "rxpost_send")
	got := <-sent
	if want := ": rxpost_send is being unloaded\n"; got.status != 1 || !strings.HasSuffix(got.stderr, want) {
		t.Errorf("status %d, %q, want 1 and %q", got.status, got.stderr, want)
	}
	r.delete()
	modprobe(t, "rxpost_send")
	r.reconnect()
	r.works()
}
