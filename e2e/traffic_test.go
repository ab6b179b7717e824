package e2e

// This file owns traffic without end, and how tests wait for what it does: by
// condition, within a bound, never by time alone.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// endless is a run that goes on until it is stopped.
type endless struct {
	r  *rig
	id uint32
}

// flood starts a run without end against r0 and waits for its first messages.
func (r *rig) flood(cfg ctl.RunConfig) endless {
	r.t.Helper()
	before := r.receiver().Counters.Messages
	e := endless{r, r.start(cfg)}
	r.await("first messages", func() bool {
		return r.receiver().Counters.Messages > before
	})
	return e
}

// stop ends the run in order: all it posted must have been acknowledged.
func (e endless) stop() ctl.Run {
	e.r.t.Helper()
	e.halt()
	return e.wait()
}

// halt asks the run to end.
func (e endless) halt() {
	e.r.t.Helper()
	if err := e.r.ctl.StopRun(e.r.ctx, e.id); err != nil {
		e.r.t.Fatal(err)
	}
}

// wait is the rest of stop.
func (e endless) wait() ctl.Run {
	e.r.t.Helper()
	run, err := e.r.ctl.WaitRun(e.r.ctx, e.id)
	if err != nil {
		e.r.t.Fatal(err)
	}
	if run.Err() != nil || run.Completed != run.Posted {
		e.r.t.Errorf("run %d: %d sends posted, %d completed: %v",
			run.ID, run.Posted, run.Completed, run.Err())
	}
	return run
}

// await waits until done, for settleTime at the most; then the test ends.
func (r *rig) await(what string, done func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(settleTime)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Now().After(deadline) {
			r.t.Fatalf("not in %v: %s; %+v", settleTime, what, r.receiver())
		}
		<-tick.C
	}
}

// advance waits until r0 has received n messages more than at the call, and
// looks at every reading on the way.
func (r *rig) advance(n uint64, look ...func(ctl.Receiver)) ctl.Receiver {
	r.t.Helper()
	rcv := r.receiver()
	goal := rcv.Counters.Messages + n
	r.await("messages go on", func() bool {
		rcv = r.receiver()
		for _, f := range look {
			f(rcv)
		}
		return rcv.Counters.Messages >= goal
	})
	return rcv
}

// settle waits until r0's poller has begun a turn after the call: the first
// figures that differ may be of a turn that had begun before.
func (r *rig) settle() {
	r.t.Helper()
	r.advance(1)
	r.advance(1)
}

// set changes r0.
func (r *rig) set(cfg ctl.ReceiverConfig) {
	r.t.Helper()
	cfg.Name = "r0"
	if err := r.ctl.Set(r.ctx, cfg); err != nil {
		r.t.Fatal(err)
	}
}

// alone waits until r0 has no connection and returns it.
func (r *rig) alone() ctl.Receiver {
	r.t.Helper()
	var rcv ctl.Receiver
	r.await("no connection left", func() bool {
		rcv = r.receiver()
		return rcv.Conns == 0
	})
	return rcv
}

// intact checks that every one of n messages came, once, in order and whole.
func (r *rig) intact(c ctl.Counters, n uint64) {
	r.t.Helper()
	if c.Messages != n || c.Verified != n {
		r.t.Errorf("of %d messages %d came, %d as sent", n, c.Messages, c.Verified)
	}
	if c.Gaps+c.Repeats+c.Damaged+c.Unrecognised != 0 {
		r.t.Errorf("gaps %d, repeats %d, damaged %d, unrecognised %d",
			c.Gaps, c.Repeats, c.Damaged, c.Unrecognised)
	}
	if c.Bogus+c.Stale != 0 {
		r.t.Errorf("completions for nobody: bogus %d, stale %d", c.Bogus, c.Stale)
	}
}

// conns reads r0's connections, each of whose ledgers must balance.
func (r *rig) conns() []ctl.Conn {
	r.t.Helper()
	conns, err := r.ctl.Conns(r.ctx, "r0")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range conns {
		if err := c.Ledger.Balanced(); err != nil {
			r.t.Errorf("connection %d: %v", c.Index, err)
		}
	}
	return conns
}

// stats reads r0's histograms.
func (r *rig) stats() ctl.Stats {
	r.t.Helper()
	s, err := r.ctl.Stats(r.ctx, "r0")
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// chains returns how many calls of ib_post_recv there were by length, less
// those that were there before.
func (r *rig) chains(before map[uint32]uint64) map[uint32]uint64 {
	r.t.Helper()
	more := map[uint32]uint64{}
	for _, c := range r.stats().Chain {
		if n := c.Count - before[c.Length]; n != 0 {
			more[c.Length] = n
		}
	}
	return more
}

// listen collects events.
type listen struct {
	r *rig
	w *ctl.Watcher
}

func (r *rig) listen() listen {
	r.t.Helper()
	w, err := r.ctl.Watch(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = w.Close() }) // it may be closed already
	return listen{r, w}
}

// close ends the listening before the test ends.
func (l listen) close() {
	l.r.t.Helper()
	if err := l.w.Close(); err != nil {
		l.r.t.Error(err)
	}
}

// next waits for the next event of a type, for no longer than things take to
// settle; each event has that time anew.
func (l listen) next(typ ctl.EventType) ctl.Event {
	l.r.t.Helper()
	late := time.AfterFunc(2*settleTime, func() { _ = l.w.Close() })
	defer late.Stop()
	for {
		ev, err := l.w.Next()
		if err != nil {
			l.r.t.Fatalf("no event %v: %v", typ, err)
		}
		if ev.Type == typ && ev.ReceiverName == "r0" {
			return ev
		}
	}
}

// hammer reads everything of all receivers over a socket of its own, as fast as
// it can, until the function it returns is called, which returns how many
// readings of receivers and of connections there were. The first that does not
// pass check fails the test and is the last.
func hammer(t *testing.T, check func(ctl.Ledger) error) (stop func() (receivers, conns int)) {
	t.Helper()
	c, err := ctl.New()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var receivers, conns int
	wg.Go(func() {
		for ctx.Err() == nil {
			n, m, err := readAll(ctx, c, check)
			receivers, conns = receivers+n, conns+m
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	end := sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		c.Close()
	})
	t.Cleanup(end)
	return func() (int, int) {
		end()
		return receivers, conns
	}
}

func readAll(ctx context.Context, c *ctl.Client, check func(ctl.Ledger) error) (int, int, error) {
	receivers, err := c.Receivers(ctx)
	if err != nil {
		return 0, 0, err
	}
	for i, r := range receivers {
		if err := check(r.Ledger); err != nil {
			return i, 0, fmt.Errorf("receiver %s: %w", r.Name, err)
		}
		// It may have gone since.
		_, err := c.Stats(ctx, r.Name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return i, 0, err
		}
	}
	conns, err := c.Conns(ctx, "")
	if err != nil {
		return len(receivers), 0, err
	}
	for i, conn := range conns {
		if err := check(conn.Ledger); err != nil {
			return len(receivers), i, fmt.Errorf("connection %d in state %v: %w",
				conn.Index, conn.State, err)
		}
	}
	return len(receivers), len(conns), nil
}
