// This file tests sending on several QPs and round trips.

package main

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rxpost/rxpost/ctl"
)

func TestSendOpcodeFlags(t *testing.T) {
	f := &fakeClient{run: testRun()}
	args := strings.Fields("send 10.9.0.1:7471 --op write --remote-addr 0x1000 --rkey 0xffffffff")
	rxctl(t.Context(), f, args...).want(t, exitDone)
	if *f.runs.Opcode != ctl.OpcodeWrite || *f.runs.RemoteAddr != 4096 || *f.runs.RKey != 0xffffffff ||
		f.runs.Hold || f.runs.RoundTrip {
		t.Errorf("request %+v is not what the flags say", f.runs)
	}
	for args, want := range map[string]string{
		"--op writ":         "want send, send-imm, send-inv, write, write-imm or read",
		"--rkey 4294967296": "is more than 0xffffffff",
		"--rkey key":        "is no number",
		"--qps 0":           "want 1 to 1024",
		"--qps 1025":        "want 1 to 1024",
		"--qps x":           "is no number",
	} {
		r := rxctl(t.Context(), f, append([]string{"send", "10.9.0.1:7471"}, strings.Fields(args)...)...)
		r.want(t, exitUsage)
		if !strings.Contains(r.stderr, want) {
			t.Errorf("%s: stderr %q, want %q", args, r.stderr, want)
		}
	}
}

func TestSendQPs(t *testing.T) {
	f := &fakeClient{run: testRun()}
	r := rxctl(t.Context(), f, strings.Fields("send 10.9.0.1:7471 --qps 4")...)
	r.want(t, exitDone)
	want := `sent 4000 messages of 64 B (250 KiB) over 4 QPs in 500ms: 8000 messages/s, 500 KiB/s
  each QP: min 2000, mean 2000, max 2000 messages/s
  ledger: posted 4000 = completed 4000 + flushed 0 + failed 0 + reclaimed 0 + outstanding 0
  posts: 252 calls, 15.9 sends each
  statuses: success 4000
`
	if diff := cmp.Diff(want, r.stdout); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if f.started != 4 || !f.ready || !f.free || !f.runs.Hold {
		t.Errorf("%d runs were started, ready %v, let go %v, held %v", f.started, f.ready, f.free, f.runs.Hold)
	}
	var runs []map[string]any
	r = rxctl(t.Context(), &fakeClient{run: testRun()}, strings.Fields("send 10.9.0.1:7471 --qps 4 -j")...)
	r.want(t, exitDone)
	if err := json.Unmarshal([]byte(r.stdout), &runs); err != nil || len(runs) != 4 || runs[3]["id"] != 10.0 {
		t.Errorf("%v, printed %s, want four objects", err, r.stdout)
	}
}

// TestSendQPsInterrupted makes sure that all runs are stopped, and that progress
// is their sum and nobody else's.
func TestSendQPsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeClient{run: testRun(), block: true}
		ctx, cancel := context.WithTimeout(t.Context(), 7500*time.Millisecond)
		defer cancel()
		r := rxctl(ctx, f, strings.Fields("send 10.9.0.1:7471 --qps 3 --progress always")...)
		if r.status != exitDone || !f.stopped || !strings.HasPrefix(r.stdout, "sent 3000 messages") {
			t.Errorf("status %d, stopped %v, stdout %q; want an orderly stop and what was done", r.status, f.stopped, r.stdout)
		}
		if !strings.Contains(r.stderr, "done: 3000 messages, 6000 messages/s, 100 % of 3000\n") {
			t.Errorf("progress %q, want the sum of three runs", r.stderr)
		}
	})
}

func TestRunsFailure(t *testing.T) {
	ok, refused, errored := testRun(), testRun(), testRun()
	refused.Errno, refused.Reason = new(ctl.Errno(syscall.ECONNREFUSED)), "10.9.0.1:7471 refused the connection: full"
	errored.Failed = 2
	for name, tt := range map[string]struct {
		runs []ctl.Run
		want string
	}{
		"none": {[]ctl.Run{ok, ok}, ""},
		"one":  {[]ctl.Run{ok, refused, ok}, "QP 1 of 3: 10.9.0.1:7471 refused the connection: full"},
		"kinds": {[]ctl.Run{errored, refused, errored}, "QPs 0, 2 of 3: 2 sends completed in error\n" +
			"QP 1 of 3: 10.9.0.1:7471 refused the connection: full"},
		"many": {[]ctl.Run{refused, refused, refused, refused, refused, refused, refused, refused, refused, refused},
			"QPs 0, 1, 2, 3, 4, 5, 6, 7 and 2 more of 10: 10.9.0.1:7471 refused the connection: full"},
	} {
		t.Run(name, func(t *testing.T) {
			var results []runResult
			for _, r := range tt.runs {
				results = append(results, runResult{run: r})
			}
			got := ""
			if err := runsFailure(results); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// roundTripRun is a finished run of round trips.
func roundTripRun() ctl.Run {
	r := testRun()
	r.RoundTrips = &ctl.RoundTrips{
		Answers: 1000, Min: 10050, Max: 2 * time.Millisecond, Sum: 20 * time.Millisecond,
		Receives: ctl.Ledger{Posted: 1016, Completed: 1000, Flushed: 16, Held: 16, Free: 16, Slots: 32},
	}
	return r
}

func TestSendRoundTrip(t *testing.T) {
	f := &fakeClient{run: roundTripRun(), rtt: []ctl.RTTBucket{{From: 9984, Count: 500}, {From: 1982464, Count: 500}}}
	r := rxctl(t.Context(), f, strings.Fields("send 10.9.0.1:7471 --round-trip --answer-timeout 1s")...)
	r.want(t, exitDone)
	want := `  answers: 1000, missing 0, unmatched 0, damaged 0, foreign 0
  round trip: min 10.05µs, P50 10.05µs, P90 1.982ms, P99 1.982ms, P99.9 1.982ms, P99.99 1.982ms, max 2ms, mean 20µs
  receives: posted 1016 = completed 1000 + flushed 16 + failed 0 + reclaimed 0 + outstanding 0
`
	if !strings.HasSuffix(r.stdout, want) {
		t.Errorf("printed:\n%s\nwant at the end:\n%s", r.stdout, want)
	}
	if !f.runs.RoundTrip || *f.runs.AnswerTimeout != 1000 {
		t.Errorf("request %+v is not what the flags say", f.runs)
	}
	f.run.RoundTrips.Unanswered = 1
	r = rxctl(t.Context(), f, "send", "10.9.0.1:7471", "--round-trip")
	if r.status != exitFailed || !strings.Contains(r.stderr, "1 are missing") {
		t.Errorf("exit status %d, stderr %q although an answer is missing", r.status, r.stderr)
	}
}

func TestSumRuns(t *testing.T) {
	one, two := roundTripRun(), roundTripRun()
	two.State, two.Elapsed, two.Status = ctl.RunStateSending, time.Second, []ctl.StatusCount{{Status: ctl.WCFlushed, Count: 3}}
	two.RoundTrips.Min, two.RoundTrips.Answers = 7, 1
	none := roundTripRun()
	none.RoundTrips = &ctl.RoundTrips{}
	sum := sumRuns([]ctl.Run{none, one, two})
	want := testRun()
	want.State, want.Elapsed, want.Count, want.Posted, want.Completed = ctl.RunStateSending, time.Second, 3000, 3000, 3000
	want.Bytes, want.PostCalls = 192000, 189
	want.Status = []ctl.StatusCount{{Status: ctl.WCSuccess, Count: 2000}, {Status: ctl.WCFlushed, Count: 3}}
	want.RoundTrips = &ctl.RoundTrips{
		Answers: 1001, Min: 7, Max: 2 * time.Millisecond, Sum: 40 * time.Millisecond,
		Receives: ctl.Ledger{Posted: 2032, Completed: 2000, Flushed: 32, Held: 32, Free: 32, Slots: 64},
	}
	if diff := cmp.Diff(want, sum, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
	if one.RoundTrips.Answers != 1000 || none.RoundTrips.Answers != 0 || none.Status[0].Count != 1000 {
		t.Error("adding up changed what was added")
	}
}
