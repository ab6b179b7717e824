package e2e

// This file owns traffic that does not end by itself, and waits that cannot
// last: what tests of the end of things stand on.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

const (
	// retryTime is how long a run takes to find out for itself that its peer is
	// gone: seven retries of the RDMA CM's time-out of one to two seconds.
	retryTime = 20 * time.Second
	// aFlow is how many messages of each run make it a flow: its first fill is
	// used up and receives are being posted anew.
	aFlow = 300
)

// bounded runs do and fails the test at once if it is not done by the limit: a
// system call that hangs in the kernel cannot be interrupted, but left behind.
func bounded(t *testing.T, what string, limit time.Duration, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
	case <-time.After(limit):
		logStacks(t)
		t.Fatalf("%s: not done in %v", what, limit)
	}
}

// must is eventually for what a test cannot go on without.
func (r *rig) must(what string, check func() error) {
	r.t.Helper()
	if !r.eventually(what, check) {
		r.t.FailNow()
	}
}

// traffic is some runs without end, of one socket.
type traffic struct {
	r      *rig
	client *ctl.Client
	runs   []uint32
}

// launch starts n runs without end and does not wait for them.
func (r *rig) launch(n int, cfg ctl.RunConfig) *traffic {
	r.t.Helper()
	c, err := ctl.New()
	if err != nil {
		r.t.Fatal(err)
	}
	tr := &traffic{r: r, client: c}
	cfg.Addr = listenAddr
	cfg = r.paced(cfg)
	for range n {
		id, err := c.StartRun(r.ctx, cfg)
		if err != nil {
			r.t.Fatal(err)
		}
		tr.runs = append(tr.runs, id)
	}
	return tr
}

// flow is launch, and waits until each run's messages keep coming.
func (r *rig) flow(n int) *traffic {
	r.t.Helper()
	tr := r.launch(n, ctl.RunConfig{})
	r.flowing(n)
	return tr
}

// flowing waits until r0 has n connections whose messages keep coming.
func (r *rig) flowing(n int) {
	r.t.Helper()
	r.must("traffic on every connection", func() error {
		conns, err := r.ctl.Conns(r.ctx, "r0")
		if err != nil {
			return err
		}
		busy := 0
		for _, c := range conns {
			if c.State == ctl.ConnStateLive && c.Counters.Messages >= aFlow {
				busy++
			}
		}
		if busy != n {
			return fmt.Errorf("%d of %d connections are busy", busy, n)
		}
		return nil
	})
}

// ended waits until all runs are done and checks that each ended with one of
// these sentences and an account that adds up. It closes the socket.
func (tr *traffic) ended(sentences ...string) done {
	t := tr.r.t
	t.Helper()
	ctx, cancel := context.WithTimeout(tr.r.ctx, retryTime+slack)
	defer cancel()
	all := done{iwarp: tr.r.iwarp}
	for _, id := range tr.runs {
		run, err := tr.client.WaitRun(ctx, id)
		if err != nil {
			now, _ := tr.client.Run(tr.r.ctx, id)
			logStacks(t)
			t.Fatalf("run %d: %v: %+v", id, err, now)
		}
		if err := runSettled(run); err != nil {
			t.Error(err)
		}
		if run.Errno == nil || !slices.Contains(sentences, run.Reason) {
			t.Errorf("run %d ended with %q, error %v", id, run.Reason, run.Errno)
		}
		all.runs = append(all.runs, run)
	}
	tr.vanish()
	return all
}

// done is runs that are.
type done struct {
	runs  []ctl.Run
	iwarp bool
}

// and adds the runs of another traffic on the same device.
func (d done) and(other done) done {
	d.runs = append(d.runs, other.runs...)
	return d
}

// flushed checks that the device gave back every send: none was waited for in vain.
func (d done) flushed(t *testing.T) {
	t.Helper()
	for _, run := range d.runs {
		if run.Reclaimed != 0 {
			t.Errorf("run %d: %d of %d sends were never completed", run.ID, run.Reclaimed, run.Posted)
		}
	}
}

// received checks a receiver's last ledger against what its senders know. What
// was acknowledged to them has arrived, so no teardown may lose its completion;
// on iWARP nothing is.
func (d done) received(t *testing.T, l ctl.Ledger) {
	t.Helper()
	var acknowledged, posted uint64
	for _, run := range d.runs {
		acknowledged += run.Completed
		posted += run.Posted
	}
	if !d.iwarp && l.Completed < acknowledged || l.Completed > posted {
		t.Errorf("%d sends posted, %d acknowledged: ledger %+v", posted, acknowledged, l)
	}
	if l.Failed != 0 || l.Reclaimed != 0 || l.Posted != l.Completed+l.Flushed {
		t.Errorf("ledger: %+v", l)
	}
}

// vanish closes the socket: the peers of the connections die.
func (tr *traffic) vanish() {
	tr.r.t.Helper()
	if err := tr.client.Close(); err != nil {
		tr.r.t.Error(err)
	}
}

// runSettled checks the final account of a run.
func runSettled(run ctl.Run) error {
	sum := run.Completed + run.Flushed + run.Failed + run.Reclaimed
	switch {
	case run.State != ctl.RunStateDone:
		return fmt.Errorf("run %d is %v", run.ID, run.State)
	case run.Outstanding != 0:
		return fmt.Errorf("run %d has %d sends outstanding", run.ID, run.Outstanding)
	case run.Posted != sum:
		return fmt.Errorf("run %d posted %d and accounts for %d", run.ID, run.Posted, sum)
	}
	return nil
}

// runsGone waits until no run is left, those of closed sockets included.
func (r *rig) runsGone() {
	r.t.Helper()
	r.eventually("no run", func() error {
		runs, err := r.ctl.Runs(r.ctx)
		if err != nil {
			return err
		}
		if len(runs) != 0 {
			return fmt.Errorf("%d runs, the first is %v", len(runs), runs[0].State)
		}
		return nil
	})
}

// deleteSoon is delete where all receives come back: it must be done long before
// the drain time-out, which is made long for that, and take none back.
func (r *rig) deleteSoon() ctl.Ledger {
	r.t.Helper()
	r.set(ctl.ReceiverConfig{DrainTimeout: minute})
	var ledger ctl.Ledger
	bounded(r.t, "recv del", slack, func() error {
		ledger = r.delete()
		return nil
	})
	if ledger.Reclaimed != 0 {
		r.t.Errorf("receives taken back: %+v", ledger)
	}
	return ledger
}

// refused checks that err is the kernel's refusal in these very words.
func refused(t *testing.T, err error, errno error, sentence string) {
	t.Helper()
	e, ok := errors.AsType[*ctl.Error](err)
	if !ok || !errors.Is(err, errno) || e.Message != sentence {
		t.Errorf("got %v\n want %v with %q", err, errno, sentence)
	}
}
