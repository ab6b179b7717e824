package e2e

// This file owns runs that begin together, and many of them.

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// hold starts n runs that wait for one another.
func (r *rig) hold(n int, cfg ctl.RunConfig) []uint32 {
	r.t.Helper()
	cfg.Hold = true
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = r.start(cfg)
	}
	return ids
}

// ready waits until all are connected, and checks that none has sent anything.
func (r *rig) ready(ids []uint32) {
	r.t.Helper()
	runs, err := r.ctl.ReadyRuns(r.ctx, ids...)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, run := range runs {
		if run.ID != ids[i] || run.State != ctl.RunStateReady || run.Posted != 0 || !run.Hold {
			r.t.Fatalf("run %d is not ready: %+v: %v", ids[i], run, run.Err())
		}
	}
}

// Held runs send nothing before they are let go, and all of it afterwards.
func TestRunsBeginTogether(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	ids := r.hold(3, ctl.RunConfig{Count: ptr(uint64(500))})
	r.ready(ids)
	if rcv := r.receiver(); rcv.Conns != 3 || rcv.Counters.Messages != 0 {
		t.Errorf("%d connections, %d messages", rcv.Conns, rcv.Counters.Messages)
	}
	if err := r.ctl.ReleaseRuns(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.allSent(ids, 500)
	r.intact(r.alone().Counters, 1500)
	refused(t, r.ctl.ReleaseRuns(r.ctx), syscall.EINVAL, "no run of this socket is held")
	r.delete()
}

// allSent waits for runs that are to send n messages each, and checks that they
// did.
func (r *rig) allSent(ids []uint32, n uint64) {
	r.t.Helper()
	runs, err := r.ctl.WaitRuns(r.ctx, ids...)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, run := range runs {
		if run.ID != ids[i] || run.Err() != nil || run.Completed != n {
			r.t.Errorf("run %d is %d, sent %d of %d: %v", ids[i], run.ID, run.Completed, n, run.Err())
		}
		if err := runSettled(run); err != nil {
			r.t.Error(err)
		}
	}
}

// A held run can be stopped, and ends with its peer.
func TestHeldRunEnds(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	ids := r.hold(2, ctl.RunConfig{})
	r.ready(ids)
	if err := r.ctl.StopRun(r.ctx, ids[0]); err != nil {
		t.Fatal(err)
	}
	run, err := r.ctl.WaitRun(r.ctx, ids[0])
	if err != nil || run.Err() != nil || run.Reason != "stopped by request" || run.Posted != 0 {
		t.Errorf("run: %+v, %v", run, err)
	}
	r.delete()
	run, err = r.ctl.WaitRun(r.ctx, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	refused(t, run.Err(), syscall.ECONNRESET, "the peer closed the connection")
	refused(t, r.ctl.ReleaseRuns(r.ctx), syscall.EINVAL, "no run of this socket is held")
}

// A crowd is under way at once, and every message of each arrives.
func TestSendCrowd(t *testing.T) {
	const runs, count = 128, 50
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), Depth: u32(16), MaxConns: u32(runs)})
	ids := r.hold(runs, ctl.RunConfig{Count: ptr(uint64(count)), InFlight: u32(16),
		ConnectTimeout: ptr(ctl.Milliseconds(60000))})
	r.ready(ids)
	if rcv := r.receiver(); rcv.Conns != runs {
		t.Errorf("%d connections, want %d", rcv.Conns, runs)
	}
	if err := r.ctl.ReleaseRuns(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.allSent(ids, count)
	r.intact(r.alone().Counters, runs*count)
	r.delete()
}

// rxctl sends on several QPs and prints their sum, and with -j each.
func TestSendQPs(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	args := strings.Fields("send " + listenAddr.String() + " --qps 8 --count 100")
	out, stderr, status := r.rxctl(args...)
	if status != 0 || stderr != "" || !strings.HasPrefix(out, "sent 800 messages of 64 B (50 KiB) over 8 QPs in ") {
		t.Errorf("exit status %d, %q, printed:\n%s", status, stderr, out)
	}
	if !strings.Contains(out, "\n  each QP: min ") || !strings.Contains(out, "posted 800 = completed 800 + flushed 0") {
		t.Errorf("printed:\n%s", out)
	}
	r.intact(r.alone().Counters, 800)

	out, stderr, status = r.rxctl(append(args, "-j")...)
	var runs []ctl.Run
	if err := json.Unmarshal([]byte(out), &runs); err != nil || status != 0 || len(runs) != 8 {
		t.Fatalf("exit status %d, %q, %v, printed:\n%s", status, stderr, err, out)
	}
	for _, run := range runs {
		if run.Completed != 100 || run.State != ctl.RunStateDone {
			t.Errorf("run: %+v", run)
		}
	}
	r.intact(r.alone().Counters, 1600)
	r.delete()
}

// What fails on some QPs is said once, with their numbers, and does not keep the
// others from sending.
func TestSendQPsRefused(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), MaxConns: u32(3)})
	out, stderr, status := r.rxctl(strings.Fields("send " + listenAddr.String() + " --qps 4 --count 100")...)
	if status != 1 || !strings.HasPrefix(out, "sent 300 messages ") {
		t.Errorf("exit status %d, printed:\n%s", status, out)
	}
	if !strings.HasPrefix(stderr, "rxctl: QP ") || strings.Count(stderr, "\n") != 1 ||
		!strings.Contains(stderr, " of 4: 10.9.0.1:7471 refused the connection: ") {
		t.Errorf("stderr: %q", stderr)
	}
	r.intact(r.alone().Counters, 300)
	r.delete()
}

// Ctrl-C ends all QPs in order and prints their sum.
func TestSendQPsInterrupted(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	var out, stderr strings.Builder
	cmd := exec.CommandContext(r.ctx, "rxctl", "send", listenAddr.String(), "--qps", "4")
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.await("messages on all QPs", func() bool {
		flowing := 0
		for _, c := range r.conns() {
			if c.Counters.Messages > 0 {
				flowing++
			}
		}
		return flowing == 4
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	bounded(t, "end after Ctrl-C", slack, cmd.Wait)
	c := r.alone().Counters
	r.intact(c, c.Messages)
	if !strings.Contains(out.String(), " over 4 QPs in ") || stderr.String() != "" ||
		!strings.Contains(out.String(), "\n  ended: stopped by request\n") {
		t.Errorf("%q, printed:\n%s", stderr.String(), out.String())
	}
	r.runsGone()
	r.delete()
}
