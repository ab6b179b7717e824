// This file tests the commands about receivers and connections.

package main

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rxpost/rxpost/ctl"
)

func TestRecvAddFlags(t *testing.T) {
	f := &fakeClient{}
	r := rxctl(t.Context(), f, strings.Fields("recv add r0 --addr [fd00::1]:7471 --device rxe0 --depth 1k --depth-max 2k "+
		"--batch 16 --batch-timeout 50us --low-water 64 --slot 4k --max-conns 8 --pollers 2 --poll busy --budget 8 "+
		"--spin 100us --sink verify --rnr-timer 640us --rnr-retry 7 --drain-timeout 5s")...)
	r.want(t, exitDone)
	want := ctl.ReceiverConfig{
		Name: "r0", Device: "rxe0", Addr: netip.MustParseAddrPort("[fd00::1]:7471"),
		Depth: new(uint32(1000)), DepthMax: new(uint32(2000)), Batch: new(uint32(16)), BatchTimeout: new(ctl.Microseconds(50)),
		LowWater: new(uint32(64)), SlotSize: new(uint32(4096)), MaxConns: new(uint32(8)), Pollers: new(uint32(2)),
		PollMode: new(ctl.PollModeBusy), Budget: new(uint32(8)), Spin: new(ctl.Microseconds(100)), Sink: new(ctl.SinkVerify),
		RNRTimer: new(ctl.Microseconds(640)), RNRRetry: new(uint32(7)), DrainTimeout: new(ctl.Milliseconds(5000)),
	}
	if diff := cmp.Diff(want, f.config, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	wantText := "r0: listening on rxe0, 10.9.0.1:7471; depth 256 of 512, batch 16, slot 4 KiB, 1 poller with 32767 CQ entries; " +
		"up to 256 MiB of slot memory for 128 connections\n"
	if r.stdout != wantText {
		t.Errorf("printed %q, want %q", r.stdout, wantText)
	}
}

func TestRecvSetSendsOnlyWhatIsGiven(t *testing.T) {
	f := &fakeClient{}
	rxctl(t.Context(), f, "recv", "set", "r0", "--batch", "32").want(t, exitDone)
	want := ctl.ReceiverConfig{Name: "r0", Batch: new(uint32(32))}
	if diff := cmp.Diff(want, f.config, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestRecvShow(t *testing.T) {
	second := testReceiver()
	second.Name, second.Device, second.State, second.RNRRetry = "r1", "", ctl.ReceiverStateNoDevice, 1
	second.PollerPIDs = nil
	f := &fakeClient{receivers: []ctl.Receiver{testReceiver(), second}}
	r := rxctl(t.Context(), f, "recv", "show")
	r.want(t, exitDone)
	want := `receiver: r0
  state: listening on rxe0, 10.9.0.1:7471
  connections: 1 of 128
  queue: depth 256 of 512 slots of 4 KiB, low water 64
  batch: 16, held at most 50µs
  polling: hybrid, budget 16, spin 50µs, CQ of 32767
  pollers: 1 (thread 123)
  sink: verify
  rnr: timer 640µs, in effect 4ms, retried without end
  drain timeout: 5s
  ledger: posted 1256 = completed 1000 + flushed 0 + failed 0 + reclaimed 0 + outstanding 256
  slots: 256 = outstanding 256 + held 0 + free 0
  received: 1000 messages, 62.5 KiB
  memory: 1 MiB now, 256 MiB at most, 256 live mappings

receiver: r1
  state: no-device on no device, 10.9.0.1:7471
`
	if !strings.HasPrefix(r.stdout, want) {
		t.Errorf("output (-want +got):\n%s", cmp.Diff(want, r.stdout))
	}
	for _, line := range []string{"retried 1 time\n", "pollers: 1 (not running)\n"} {
		if !strings.Contains(r.stdout, line) {
			t.Errorf("output lacks %q of r1:\n%s", line, r.stdout)
		}
	}
}

func TestJSONShape(t *testing.T) {
	f := &fakeClient{receivers: []ctl.Receiver{testReceiver()}, conns: []ctl.Conn{{ReceiverName: "r0"}}, run: testRun(), gone: ctl.Event{Type: ctl.EventTypeReceiverGone}}
	for args, key := range map[string]string{
		"recv show": "depth-max", "recv show r0": "rnr-effective-us", "recv add r0 --addr 10.9.0.1:1": "memory-max",
		"recv del r0": "type", "conn show": "receiver-name", "stats": "posts-per-message", "link show": "node-guid",
		"send 10.9.0.1:1": "elapsed-ns", "version": "rxctl",
	} {
		for _, flag := range []string{"-j", "-p"} {
			r := rxctl(t.Context(), f, append(strings.Fields(args), flag)...)
			r.want(t, exitDone)
			var values []map[string]any
			if err := json.Unmarshal([]byte(r.stdout), &values); err != nil {
				t.Errorf("%s %s: %v in %q", args, flag, err, r.stdout)
				continue
			}
			if _, ok := values[0][key]; !ok || len(values) != 1 {
				t.Errorf("%s %s: no array of one object with key %q: %s", args, flag, key, r.stdout)
			}
		}
	}
	none := &fakeClient{}
	for _, args := range []string{"recv show", "conn show", "stats"} {
		if r := rxctl(t.Context(), none, append(strings.Fields(args), "-j")...); r.stdout != "[]\n" {
			t.Errorf("%s -j without any: %q, want []", args, r.stdout)
		}
	}
}

func TestRecvDel(t *testing.T) {
	f := &fakeClient{gone: ctl.Event{Type: ctl.EventTypeReceiverGone, ReceiverName: "r0", Mappings: new(uint64(0)), Ledger: new(testLedger())}}
	r := rxctl(t.Context(), f, "recv", "del", "r0")
	r.want(t, exitDone)
	want := "r0: gone, 0 live mappings\n  ledger: " + ledgerSum(testLedger()) + "\n"
	if r.stdout != want {
		t.Errorf("printed %q, want %q", r.stdout, want)
	}
	f.gone.Ledger, f.gone.Mappings = nil, nil
	if r := rxctl(t.Context(), f, "recv", "del", "r0"); !strings.Contains(r.stdout, "not known") {
		t.Errorf("printed %q for a lost event", r.stdout)
	}
}

func TestRecvDelTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rxctl(t.Context(), &fakeClient{block: true}, "recv", "del", "r0", "--timeout", "90s")
		r.want(t, exitFailed)
		if !strings.Contains(r.stderr, "still closing") || r.stdout != "" {
			t.Errorf("stderr %q, stdout %q; want to be told that it is still closing", r.stderr, r.stdout)
		}
	})
}

func TestConnShow(t *testing.T) {
	f := &fakeClient{conns: []ctl.Conn{{
		ReceiverName: "r0", Index: 1, Generation: 4, State: ctl.ConnStateLive, QPN: 17, PeerAddr: netip.MustParseAddr("10.9.0.2"),
		PeerPort: 4000, Foreign: true, RQAsked: 256, RQGranted: 511, AgeMS: 1500, Ledger: testLedger(),
	}}}
	r := rxctl(t.Context(), f, "conn", "show")
	r.want(t, exitDone)
	lines := strings.Split(r.stdout, "\n")
	if len(lines) != 3 || strings.Index(lines[0], "QPN") != strings.Index(lines[1], "17") {
		t.Errorf("columns do not align:\n%s", r.stdout)
	}
	for _, part := range []string{"1.4", "10.9.0.2:4000 (foreign)", "256/511", "1.5s"} {
		if !strings.Contains(lines[1], part) {
			t.Errorf("row lacks %q: %s", part, lines[1])
		}
	}
}
