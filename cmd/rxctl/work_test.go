// This file tests sending, statistics, events, devices and versions.

package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rxpost/rxpost/ctl"
)

func TestSend(t *testing.T) {
	f := &fakeClient{run: testRun()}
	r := rxctl(t.Context(), f, strings.Fields("send 10.9.0.1:7471 --size 64 --count 1k --batch 16 --rate 50k --duration 10s")...)
	r.want(t, exitDone)
	want := `sent 1000 messages of 64 B (62.5 KiB) in 500ms: 2000 messages/s, 125 KiB/s
  ledger: posted 1000 = completed 1000 + flushed 0 + failed 0 + reclaimed 0 + outstanding 0
  posts: 63 calls, 15.9 sends each
  statuses: success 1000
`
	if r.stdout != want {
		t.Errorf("printed:\n%s\nwant:\n%s", r.stdout, want)
	}
	if *f.runs.Count != 1000 || *f.runs.Rate != 50000 || *f.runs.Duration != 10000 || f.runs.InFlight != nil {
		t.Errorf("request %+v is not what the flags say", f.runs)
	}
}

func TestSendFailed(t *testing.T) {
	f := &fakeClient{run: testRun()}
	f.run.Errno, f.run.Reason = new(ctl.Errno(syscall.ENODEV)), "no RDMA device reaches 10.9.0.1"
	r := rxctl(t.Context(), f, "send", "10.9.0.1:7471")
	r.want(t, exitFailed)
	if !strings.Contains(r.stdout, "sent 1000") || !strings.Contains(r.stderr, "no RDMA device reaches") {
		t.Errorf("stdout %q, stderr %q; want what was done and why it ended", r.stdout, r.stderr)
	}
	f.run = testRun()
	f.run.Failed = 2
	if r := rxctl(t.Context(), f, "send", "10.9.0.1:7471"); r.status != exitFailed {
		t.Errorf("exit status %d although sends completed in error", r.status)
	}
}

func TestSendInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeClient{run: testRun(), block: true}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(12500*time.Millisecond, cancel)
		r := rxctl(ctx, f, "send", "10.9.0.1:7471", "--progress", "always")
		if r.status != exitDone || !f.stopped || !strings.HasPrefix(r.stdout, "sent 1000 messages") {
			t.Errorf("status %d, stopped %v, stdout %q; want an orderly stop and what was done", r.status, f.stopped, r.stdout)
		}
		if n := strings.Count(r.stderr, "done: 1000 messages"); n != 2 {
			t.Errorf("%d lines of progress in 12.5 s, want 2: %q", n, r.stderr)
		}
		if strings.ContainsAny(r.stderr, "\r\033") {
			t.Errorf("control characters, and no terminal: %q", r.stderr)
		}
	})
}

func TestNoProgressInPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeClient{run: testRun(), block: true}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		rxctl(ctx, f, "send", "10.9.0.1:7471").want(t, exitDone)
	})
}

func TestStats(t *testing.T) {
	f := &fakeClient{receivers: []ctl.Receiver{testReceiver()}}
	r := rxctl(t.Context(), f, "stats")
	r.want(t, exitDone)
	for _, part := range []string{
		"80 calls, 1256 receives, 0.0800 calls per message", "2 calls of 4, 78 calls of 16\n", "success 1000", "0 times, lowest 240",
		"47 sent by device rxe0 since it was made, one wait is 4ms",
	} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("output lacks %q:\n%s", part, r.stdout)
		}
	}
}

func TestChainList(t *testing.T) {
	var counts []ctl.ChainCount
	for length := uint32(1); length <= 8; length++ {
		counts = append(counts, ctl.ChainCount{Length: length, Count: uint64(length)})
	}
	want := "3 calls of 3, 4 calls of 4, 5 calls of 5, 6 calls of 6, 7 calls of 7, 8 calls of 8, 3 calls of other lengths"
	if got := chainList(counts); got != want {
		t.Errorf("chains: %q, want %q", got, want)
	}
	if counts[0].Length != 1 {
		t.Error("printing reordered what it was given")
	}
}

// Ctrl-C is how a monitor ends, while it asks for its group, too.
func TestMonitorInterruptedAtOnce(t *testing.T) {
	err := &ctl.Error{Op: "watch events", Err: context.Canceled}
	r := rxctl(t.Context(), &fakeClient{err: err}, "monitor")
	r.want(t, exitDone)
}

func TestStatsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 43*time.Second)
		defer cancel()
		r := rxctl(ctx, &fakeClient{}, "stats", "r0", "--watch=2s")
		r.want(t, exitDone)
		lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
		if len(lines) != 21+2 || !strings.Contains(lines[0], "MESSAGES/S") || lines[21] != lines[0] {
			t.Fatalf("%d lines in 43 s, want 21 and two headings:\n%s", len(lines), r.stdout)
		}
		want := []string{"2500", "0.00", "0.0800", "256", "0", "1", "0", "0"}
		if got := strings.Fields(lines[1]); !slices.Equal(got, want) {
			t.Errorf("line %q, want %q", got, want)
		}
	})
}

func TestStatsWatchJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := rxctl(ctx, &fakeClient{}, "stats", "r0", "--watch=2s", "-j")
		r.want(t, exitDone)
		lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
		end := time.Date(2000, 1, 1, 0, 0, 2, 0, time.UTC).Local() // as the fake clock begins
		want := `{"time":"` + end.Format(time.RFC3339Nano) + `","receiver-id":1,"receiver-name":"r0","state":"listening","period-ns":2000000000,` +
			`"messages":5000,"bytes":0,"post-calls":400,"messages-per-second":2500,"bytes-per-second":0,"posts-per-message":0.08,` +
			`"outstanding":256,"held":0,"conns":1,"empty":0,"device-rnr":0}`
		if len(lines) != 2 || lines[0] != want {
			t.Errorf("%d lines in 5 s, want 2; the first:\n got %s\nwant %s", len(lines), lines[0], want)
		}
	})
}

func TestRNRsBetween(t *testing.T) {
	count := func(n uint64) *uint64 { return &n }
	for _, tt := range []struct{ before, now, want *uint64 }{
		{count(3), count(10), count(7)},
		{count(10), count(3), count(3)}, // the device was made anew
		{nil, count(3), nil},
		{count(3), nil, nil},
	} {
		if got := rnrsBetween(sample{rnr: tt.before}, sample{rnr: tt.now}); !cmp.Equal(got, tt.want) {
			t.Errorf("between %v and %v: %v, want %v", tt.before, tt.now, got, tt.want)
		}
	}
}

// TestGlossary explains each word that stats puts before a number.
func TestGlossary(t *testing.T) {
	r := rxctl(t.Context(), &fakeClient{}, "help", "stats")
	r.want(t, exitDone)
	for word := range strings.FieldsSeq("posted completed flushed failed reclaimed outstanding held free answers immediate chains " +
		"refused skipped stale bogus empty lowest rnr gaps repeats damaged unrecognised") {
		if !strings.Contains(r.stdout, "\n  "+word+" ") {
			t.Errorf("help stats does not explain %s", word)
		}
	}
}

func TestMonitor(t *testing.T) {
	f := &fakeClient{events: []ctl.Event{
		{Type: ctl.EventTypeConnDown, ReceiverName: "r0", ConnIndex: new(uint32(0)), Reason: "the peer left", Ledger: new(testLedger())},
		{Type: ctl.EventTypeLost},
	}}
	r := rxctl(t.Context(), f, "monitor")
	r.want(t, exitDone)
	want := "conn-down r0 conn 0 (the peer left) " + ledgerSum(testLedger()) + "\nlost an unknown number of events\n"
	if r.stdout != want {
		t.Errorf("printed %q, want %q", r.stdout, want)
	}
	r = rxctl(t.Context(), f, "monitor", "-j")
	if want := `{"type":"lost"}` + "\n"; r.status != exitDone || !strings.HasSuffix(r.stdout, want) {
		t.Errorf("status %d, printed %q, want lines of JSON", r.status, r.stdout)
	}
}

func TestVersionWithoutModule(t *testing.T) {
	f := &fakeClient{err: &ctl.Error{Op: "ask", Message: "not loaded", Err: ctl.ErrNotLoaded}}
	r := rxctl(t.Context(), f, "version")
	r.want(t, exitNotLoaded)
	if !strings.Contains(r.stdout, "v1") {
		t.Errorf("printed %q, want the version of rxctl nevertheless", r.stdout)
	}
}

func TestLink(t *testing.T) {
	var stdout, stderr bytes.Buffer
	env := &environment{stdout: &stdout, stderr: &stderr, devices: fakeDevices{}}
	if status := run(t.Context(), env, []string{"link", "show"}); status != exitDone || !strings.Contains(stdout.String(), "rxe0    ACTIVE  eth0") {
		t.Errorf("status %d, printed %q", status, stdout.String())
	}
	env.devices = fakeDevices{err: errors.Join(syscall.EPERM)}
	if status := run(t.Context(), env, strings.Fields("link add rxe1 --type rxe --netdev eth0")); status != exitForbidden {
		t.Errorf("status %d without the privilege, want %d", status, exitForbidden)
	}
}
