package e2e

// This file owns round trips: every message is answered, and its time counted
// once.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// Each message of a run with count is answered before the run is done, whatever
// is under way at a time.
func TestRoundTrip(t *testing.T) { eachDevice(t, roundTrip) }

func roundTrip(t *testing.T, d device) {
	const count = 2000
	for _, tt := range []ctl.RunConfig{
		{InFlight: u32(1), Size: u32(32)},
		{InFlight: u32(17), Batch: u32(5), Size: u32(4096)},
		{InFlight: u32(128), Opcode: ptr(ctl.OpcodeSendImm)},
	} {
		if d.iwarp {
			tt.Opcode = nil // no immediate data there
		}
		t.Run(fmt.Sprintf("in-flight %d", *tt.InFlight), func(t *testing.T) {
			r := newRigOn(t, d)
			r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkEcho)})
			tt.RoundTrip, tt.Count = true, ptr(uint64(count))
			run, err := r.ctl.WaitRun(r.ctx, r.start(tt))
			if err != nil || run.Err() != nil || run.Completed != count {
				t.Errorf("sent %d of %d: %v", run.Completed, count, errors.Join(err, run.Err()))
			}
			r.answered(run, count)
			r.intactRTT(run)
			if c := r.alone(); c.Counters.Messages != count {
				t.Errorf("the receiver counts %d messages of %d", c.Counters.Messages, count)
			}
			r.delete()
		})
	}
}

// answered checks that n messages of a finished run were answered once and
// nothing else came, and that no receive is lost.
func (r *rig) answered(run ctl.Run, n uint64) {
	r.t.Helper()
	back := run.RoundTrips
	if back == nil {
		r.t.Fatal("the run has no round trips")
	}
	if err := back.Err(); err != nil || back.Answers != n {
		r.t.Errorf("%d of %d messages were answered: %v", back.Answers, n, err)
	}
	r.receivesSettled(run)
	if back.Receives.Completed != n {
		r.t.Errorf("%d receives completed, and %d answers came", back.Receives.Completed, n)
	}
	if back.Receives.Failed+back.Receives.Reclaimed != 0 {
		r.t.Errorf("receives: %+v", back.Receives)
	}
}

// receivesSettled checks that the receives of a finished run balance, and that
// the device has none.
func (r *rig) receivesSettled(run ctl.Run) {
	r.t.Helper()
	l := run.RoundTrips.Receives
	if err := l.Balanced(); err != nil {
		r.t.Error(err)
	}
	if l.Outstanding != 0 || l.Slots != run.InFlight+16 || l.Posted < uint64(l.Slots) {
		r.t.Errorf("receives of a run that is done: %+v", l)
	}
}

// intactRTT checks that the histogram of a finished run has each answer once,
// within the run's minimum and maximum.
func (r *rig) intactRTT(run ctl.Run) {
	r.t.Helper()
	back := run.RoundTrips
	buckets, err := r.ctl.RTT(r.ctx, run.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(buckets) == 0 {
		r.t.Errorf("no round trips of %d answers", back.Answers)
		return
	}
	var total uint64
	last := time.Duration(-1)
	for _, b := range buckets {
		if b.From <= last || b.Count == 0 {
			r.t.Errorf("bucket %+v comes after one of %v", b, last)
		}
		last = b.From
		total += b.Count
	}
	if total != back.Answers {
		r.t.Errorf("the histogram has %d round trips of %d", total, back.Answers)
	}
	p50 := ctl.Percentile(buckets, 50)
	if p50 < back.Min-back.Min/100 || p50 > back.Max || back.Min <= 0 {
		r.t.Errorf("min %v, P50 %v, max %v", back.Min, p50, back.Max)
	}
	if first, least := buckets[0].From, back.Min; first > least || least-first > least/100 {
		r.t.Errorf("the first bucket begins at %v and the minimum is %v", first, least)
	}
	if back.Max < last || back.Max-last > back.Max/100 {
		r.t.Errorf("the last bucket begins at %v and the maximum is %v", last, back.Max)
	}
	if mean := back.Mean(); mean < back.Min || mean > back.Max {
		r.t.Errorf("min %v, mean %v, max %v", back.Min, mean, back.Max)
	}
	// A round trip cannot have taken longer than the run.
	if back.Max > run.Elapsed {
		r.t.Errorf("a round trip of %v in a run of %v", back.Max, run.Elapsed)
	}
}

// Stopped at any time, a run waits for the answers that are under way.
func TestRoundTripStopped(t *testing.T) { onEachDevice(t, roundTripStopped) }

func roundTripStopped(t *testing.T, r *rig) {
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkEcho)})
	run := r.flood(ctl.RunConfig{RoundTrip: true, InFlight: u32(8)}).stop()
	if run.Posted == 0 {
		t.Fatal("nothing was posted")
	}
	r.answered(run, run.Posted)
	r.intactRTT(run)
	r.delete()
}

// Whatever is under way, each message that waits for an answer has a receive
// that the answer finds: no reading of the run shows fewer of those, and the
// peer is never told to wait.
func TestRoundTripAnswersFindReceives(t *testing.T) {
	const readings = 500
	for _, n := range []uint32{17, 63} { // never a whole number of chains
		t.Run(fmt.Sprintf("in-flight %d", n), func(t *testing.T) {
			r := newRig(t)
			r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkEcho)})
			waits := r.counter("send_rnr_err")
			e := r.flood(ctl.RunConfig{RoundTrip: true, InFlight: u32(n), Batch: u32(n)})
			short := 0
			for range readings {
				run, err := r.ctl.Run(r.ctx, e.id)
				if err != nil {
					t.Fatal(err)
				}
				if back := run.RoundTrips; back.Unanswered > uint64(back.Receives.Outstanding) {
					short++
				}
			}
			if short != 0 {
				t.Errorf("%d of %d readings have fewer receives than messages without an answer", short, readings)
			}
			run := e.stop()
			r.answered(run, run.Posted)
			if waits = r.counter("send_rnr_err") - waits; waits != 0 {
				t.Errorf("%d answers of %d were told to wait for a receive", waits, run.Posted)
			}
			r.delete()
		})
	}
}

// A peer that answers nothing ends the run in words, and everything is
// accounted for.
func TestRoundTripUnanswered(t *testing.T) { onEachDevice(t, roundTripUnanswered) }

func roundTripUnanswered(t *testing.T, r *rig) {
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkDiscard)})
	id := r.start(ctl.RunConfig{RoundTrip: true, InFlight: u32(8), AnswerTimeout: ptr(ctl.Milliseconds(700))})
	run, err := r.ctl.WaitRun(r.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, run.Err(), syscall.ETIMEDOUT, "no answer in 700 ms: does the peer echo messages (sink echo)?")
	back := run.RoundTrips
	if run.Posted != 8 || back.Unanswered != 8 || back.Answers != 0 || back.Max != 0 {
		t.Errorf("posted %d, round trips %+v; want in-flight messages without an answer", run.Posted, back)
	}
	r.receivesSettled(run)
	buckets, err := r.ctl.RTT(r.ctx, id)
	if err != nil || len(buckets) != 0 {
		t.Errorf("round trips: %v, %v", buckets, err)
	}
	r.delete()
}

// A run of round trips that finds nobody takes its receives back, whether the
// RDMA CM gave up its QP or it has to do so itself.
func TestRoundTripFindsNobody(t *testing.T) {
	r := newRig(t)
	for addr, sentence := range map[string]string{
		"10.9.0.1:7471":  "no one listens at 10.9.0.1:7471",
		"10.9.0.77:7471": "connecting to 10.9.0.77:7471 took longer than 300 ms",
	} {
		id, err := r.ctl.StartRun(r.ctx, ctl.RunConfig{Addr: netip.MustParseAddrPort(addr),
			RoundTrip: true, ConnectTimeout: ptr(ctl.Milliseconds(300))})
		if err != nil {
			t.Fatal(err)
		}
		run, err := r.ctl.WaitRun(r.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if run.Reason != sentence {
			t.Errorf("ended with %q, want %q", run.Reason, sentence)
		}
		r.receivesSettled(run)
		if l := run.RoundTrips.Receives; l.Flushed != uint64(l.Slots) {
			t.Errorf("%s: receives: %+v, want all flushed", addr, l)
		}
	}
}

func TestRTTRefused(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	_, err := r.ctl.RTT(r.ctx, 1<<31)
	refused(t, err, syscall.ENOENT, "id: no such run")
	_, err = r.ctl.RTT(r.ctx, r.send(ctl.RunConfig{Count: ptr(uint64(1))}).ID)
	refused(t, err, syscall.EINVAL, "id: the run has no round trips")
	r.delete()
}

// rxctl prints the percentiles in order and, with -j, the same as numbers.
func TestRoundTripCLI(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkEcho)})
	args := strings.Fields("send " + listenAddr.String() + " --round-trip --in-flight 4 --count 500")
	out, stderr, status := r.rxctl(args...)
	const whole = "\n  answers: 500, missing 0, unmatched 0, damaged 0, foreign 0\n  round trip: min "
	if status != 0 || stderr != "" || !strings.Contains(out, whole) {
		t.Errorf("exit status %d, %q, printed:\n%s", status, stderr, out)
	}
	out, stderr, status = r.rxctl(append(args, "-j")...)
	var runs []struct {
		Posted uint64           `json:"posted"`
		RTT    map[string]int64 `json:"rtt"`
	}
	if err := json.Unmarshal([]byte(out), &runs); err != nil || status != 0 || len(runs) != 1 {
		t.Fatalf("exit status %d, %q, %v, printed:\n%s", status, stderr, err, out)
	}
	last := int64(1)
	for _, key := range []string{"min-ns", "p50-ns", "p90-ns", "p99-ns", "p99.9-ns", "p99.99-ns", "max-ns"} {
		if now := runs[0].RTT[key]; now < last {
			t.Errorf("%s is %d ns, less than the one before: %v", key, now, runs[0].RTT)
		} else {
			last = now
		}
	}
	r.delete()
}
