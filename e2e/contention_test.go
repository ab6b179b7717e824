package e2e

// This file owns requests that get in each other's way: deletions at once,
// during an addition, changes during a teardown; and a listener that does not
// listen.

import (
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"

	"github.com/rxpost/rxpost/ctl"
)

// contentions is how often requests get in each other's way.
var contentions = min(rounds, 10)

// atOnce runs each function with a client of its own, all at the same time, and
// returns their errors in order.
func (r *rig) atOnce(do ...func(*ctl.Client) error) []error {
	r.t.Helper()
	errs := make([]error, len(do))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, f := range do {
		c, err := ctl.New()
		if err != nil {
			r.t.Fatal(err)
		}
		// Its first call looks the family up: not in the race.
		if _, err := c.Info(r.ctx); err != nil {
			r.t.Fatal(err)
		}
		wg.Go(func() {
			defer c.Close()
			<-start
			errs[i] = f(c)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// says reports whether err is a refusal in these words.
func says(err error, errno syscall.Errno, sentence string) bool {
	e, ok := errors.AsType[*ctl.Error](err)
	return ok && errors.Is(err, errno) && e.Message == sentence
}

func closing(err error) bool { return says(err, syscall.EBUSY, "receiver r0 is being torn down") }
func absent(err error) bool  { return says(err, syscall.ENOENT, "no receiver r0") }

// One of two deletions wins; the other is told that there is nothing left to do.
func TestDeleteTwiceAtOnce(t *testing.T) { onEachDevice(t, deleteTwiceAtOnce) }

func deleteTwiceAtOnce(t *testing.T, r *rig) {
	for range contentions {
		r.addSmall(ctl.ReceiverConfig{})
		tr := r.flow(1)
		events := r.listen()
		del := func(c *ctl.Client) error {
			_, err := c.Delete(r.ctx, "r0")
			return err
		}
		won := 0
		for _, err := range r.atOnce(del, del) {
			switch {
			case err == nil:
				won++
			case !closing(err) && !absent(err):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d of two deletions won", won)
		}
		l := events.next(ctl.EventTypeReceiverGone).Ledger
		events.close()
		tr.ended(peerLeft).received(t, *l)
		r.atBaseline()
	}
}

// A deletion that comes while the receiver is being made finds it or does not:
// whole, in both cases.
func TestDeleteDuringAdd(t *testing.T) { onEachDevice(t, deleteDuringAdd) }

func deleteDuringAdd(t *testing.T, r *rig) {
	for range contentions {
		errs := r.atOnce(
			func(c *ctl.Client) error {
				_, err := c.Add(r.ctx, ctl.ReceiverConfig{Name: "r0", Addr: listenAddr})
				return err
			},
			func(c *ctl.Client) error {
				// Until the other has begun there is nothing to race with.
				for {
					_, err := c.Delete(r.ctx, "r0")
					if !absent(err) {
						return err
					}
				}
			})
		if errs[0] != nil || errs[1] != nil {
			t.Errorf("add: %v; delete: %v", errs[0], errs[1])
		}
		if receivers, err := r.ctl.Receivers(r.ctx); err != nil || len(receivers) != 0 {
			t.Errorf("left: %+v, %v", receivers, err)
		}
		r.atBaseline()
	}
	r.works()
}

// A change during a teardown is taken, then refused, then finds nobody, in this
// order.
func TestSetDuringTeardown(t *testing.T) { onEachDevice(t, setDuringTeardown) }

func setDuringTeardown(t *testing.T, r *rig) {
	refusals := 0
	for range contentions {
		r.addSmall(ctl.ReceiverConfig{DrainTimeout: minute})
		tr := r.flow(1)
		gone := make(chan ctl.Ledger, 1)
		go func() { gone <- r.deleteSoon() }()
		const taken, refused, nobody = 0, 1, 2
		for phase := taken; phase != nobody; {
			err := r.ctl.Set(r.ctx, ctl.ReceiverConfig{Name: "r0", Batch: ptr(uint32(1 + refusals%16))})
			now := nobody
			switch {
			case err == nil:
				now = taken
			case closing(err):
				now = refused
				refusals++
			case !absent(err):
				t.Fatal(err)
			}
			if now < phase {
				t.Fatalf("a receiver that was being torn down is back: %v", err)
			}
			phase = now
		}
		tr.ended(peerLeft).received(t, <-gone)
	}
	if refusals == 0 {
		t.Error("no change came while a receiver was being torn down")
	}
}

// mute joins the events group with a small buffer and reads nothing.
func mute(t *testing.T) *genetlink.Conn {
	t.Helper()
	g := joinGroup(t, "rxpost", "events")
	t.Cleanup(g.close)
	if err := g.conn.SetReadBuffer(1); err != nil { // the kernel's least
		t.Fatal(err)
	}
	return g.conn
}

// overflowed checks that the kernel had events for a socket and no room in it.
func overflowed(t *testing.T, c *genetlink.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(slack)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Receive(); !errors.Is(err, syscall.ENOBUFS) {
		t.Errorf("the socket that is never read: %v", err)
	}
}

// Whoever does not read loses events. The others lose none, and nothing waits.
func TestMonitorThatNeverReads(t *testing.T) {
	const turns = 100
	r := newRig(t)
	deaf := mute(t)
	r.addCrowd()
	events := r.listen()
	tr := r.flow(1)
	for range turns {
		p := dialRaw(t)
		p.connect(nil)
		p.expect(cmConnectResponse)
		p.die()
	}
	r.advance(aFlow)
	tr.vanish()
	r.alone()
	r.deleteSoon()
	// A connection each of them, and the one that stayed.
	down := 0
	for {
		ev, err := events.w.Next()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == ctl.EventTypeLost {
			t.Errorf("events lost: %+v", ev)
		}
		if ev.Type == ctl.EventTypeConnDown {
			down++
		}
		if ev.Type == ctl.EventTypeReceiverGone {
			break
		}
	}
	if down != turns+1 {
		t.Errorf("%d connections ended, %d events tell of it", turns+1, down)
	}
	overflowed(t, deaf)
}
