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
	"github.com/spf13/pflag"
)

func TestRecvAddFlags(t *testing.T) {
	f := &fakeClient{}
	r := rxctl(t.Context(), f, strings.Fields("recv add r0 --addr [fd00::1]:7471 --device rxe0 --depth 1k --depth-max 2k "+
		"--batch 16 --batch-timeout 50us --low-water 64 --slot 4k --max-conns 8 --pollers 2 --poll busy --budget 8 "+
		"--spin 100us --sink verify --rnr-timer 640us --rnr-retry 7 --drain-timeout 5s --hold 1ms --idle-timeout 1m --cpu 1,0 --cpu 1 "+
		"--allow 10.9.0.0/24,fd00::/8 --allow 10.8.0.1")...)
	r.want(t, exitDone)
	want := ctl.ReceiverConfig{
		Name: "r0", Device: "rxe0", Addr: netip.MustParseAddrPort("[fd00::1]:7471"),
		Depth: new(uint32(1000)), DepthMax: new(uint32(2000)), Batch: new(uint32(16)), BatchTimeout: new(ctl.Microseconds(50)),
		LowWater: new(uint32(64)), SlotSize: new(uint32(4096)), MaxConns: new(uint32(8)), Pollers: new(uint32(2)),
		PollMode: new(ctl.PollModeBusy), Budget: new(uint32(8)), Spin: new(ctl.Microseconds(100)), Sink: new(ctl.SinkVerify),
		RNRTimer: new(ctl.Microseconds(640)), RNRRetry: new(uint32(7)), DrainTimeout: new(ctl.Milliseconds(5000)),
		Hold: new(ctl.Microseconds(1000)), IdleTimeout: new(ctl.Milliseconds(60000)), CPUs: &[]uint32{1, 0, 1},
		Allow: &[]netip.Prefix{netip.MustParsePrefix("10.9.0.0/24"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("10.8.0.1/32")},
	}
	if diff := cmp.Diff(want, f.config, netipComparer()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	wantText := "r0: listening on rxe0, 10.9.0.1:7471; depth 256 of 512, batch 16, slot 4 KiB, 1 poller with 32767 CQ entries; " +
		"up to 128 connections x 512 slots x 4 KiB = 256 MiB of slot memory, 258 MiB with page rounding and work requests\n"
	if r.stdout != wantText {
		t.Errorf("printed %q, want %q", r.stdout, wantText)
	}
}

// netipComparer lets cmp look at addresses, whose fields are private.
func netipComparer() cmp.Option {
	return cmp.Options{
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
}

func TestRecvSetSendsOnlyWhatIsGiven(t *testing.T) {
	for args, want := range map[string]ctl.ReceiverConfig{
		"--batch 32":                        {Batch: new(uint32(32))},
		"--slot 64+4k":                      {Segments: []uint32{64, 4096}},
		"--slot 64+4k --slot 1k":            {SlotSize: new(uint32(1024))},
		"--cpu any":                         {CPUs: &[]uint32{}},
		"--allow any":                       {Allow: &[]netip.Prefix{}},
		"--hold 0 --idle-timeout 0":         {Hold: new(ctl.Microseconds(0)), IdleTimeout: new(ctl.Milliseconds(0))},
		"--batch-timeout 0 --rnr-timer 1ms": {BatchTimeout: new(ctl.Microseconds(0)), RNRTimer: new(ctl.Microseconds(1000))},
	} {
		f := &fakeClient{}
		rxctl(t.Context(), f, append([]string{"recv", "set", "r0"}, strings.Fields(args)...)...).want(t, exitDone)
		want.Name = "r0"
		if diff := cmp.Diff(want, f.config, netipComparer()); diff != "" {
			t.Errorf("request of %s (-want +got):\n%s", args, diff)
		}
	}
}

// TestRecvSetHelp offers what can be set, and says of the rest that it is fixed.
func TestRecvSetHelp(t *testing.T) {
	r := rxctl(t.Context(), &fakeClient{}, "recv", "set", "--help")
	r.want(t, exitDone)
	text, flags, found := strings.Cut(r.stdout, "Flags:")
	flags, _, _ = strings.Cut(flags, "Global")
	if !found || strings.Contains(flags, "fixed") || strings.Contains(flags, "(default") || !strings.Contains(flags, "--batch") {
		t.Errorf("offered flags: %s", flags)
	}
	set, add := recvSetCommand(&environment{}).Flags(), recvAddCommand(&environment{}).Flags()
	add.VisitAll(func(f *pflag.Flag) {
		fixed := strings.HasSuffix(f.Usage, "; fixed")
		if other := set.Lookup(f.Name); other == nil || other.Hidden != fixed || strings.Contains(text, "--"+f.Name+",") && !fixed {
			t.Errorf("--%s: fixed is %v, recv set has %+v", f.Name, fixed, other)
		}
		if fixed && !strings.Contains(text, "--"+f.Name) {
			t.Errorf("recv set does not say that --%s is fixed", f.Name)
		}
	})
}

func TestRecvShow(t *testing.T) {
	second := testReceiver()
	second.Name, second.Device, second.State, second.RNRRetry = "r1", "", ctl.ReceiverStateNoDevice, new(uint32(1))
	second.PollerPIDs, second.Device = nil, "rxe1"
	second.SlotSize, second.Segments = 4096, []uint32{64, 4032}
	second.Sink, second.Hold, second.IdleTimeout, second.Sends = ctl.SinkEcho, 1000, 60000, new(testLedger())
	second.CPUs, second.Allow = []uint32{0, 1}, []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24"), netip.MustParsePrefix("fd00::/8")}
	f := &fakeClient{receivers: []ctl.Receiver{testReceiver(), second}}
	r := rxctl(t.Context(), f, "recv", "show")
	r.want(t, exitDone)
	want := `receiver: r0
  state: listening on rxe0, 10.9.0.1:7471
  connections: 1 of 128
  allowed: everybody
  queue: depth 256 of 512 slots of 4 KiB, low water 64
  batch: 16, held at most 50µs
  polling: hybrid, budget 16, spin 50µs, CQ of 32767
  pollers: 1 (thread 123, on any CPU)
  sink: verify
  rnr: timer 640µs, in effect 4ms, retried without end
  timeouts: idle never, drain 5s
  ledger: posted 1256 = completed 1000 + flushed 0 + failed 0 + reclaimed 0 + outstanding 256
  slots: 256 = outstanding 256 + held 0 + free 0
  received: 1000 messages, 62.5 KiB
  memory: 1 MiB now, 258 MiB at most, 256 live mappings

receiver: r1
  state: no-device, rxe1 was removed; waiting for 10.9.0.1:7471 on an RDMA device
  connections: 1 of 128
  allowed: 10.9.0.0/24, fd00::/8
  queue: depth 256 of 512 slots of 4 KiB (64+4032), low water 64
  batch: 16, held at most 50µs
  polling: hybrid, budget 16, spin 50µs, CQ of 32767
  pollers: 1 (not running, on CPU 0 1)
  sink: echo, keeps a message for 1ms
  rnr: timer 640µs, in effect 4ms, retried 1 time
  timeouts: idle 1m0s, drain 5s
  ledger: posted 1256 = completed 1000 + flushed 0 + failed 0 + reclaimed 0 + outstanding 256
  slots: 256 = outstanding 256 + held 0 + free 0
  answers: posted 1256 = completed 1000 + flushed 0 + failed 0 + reclaimed 0 + outstanding 256
  received: 1000 messages, 62.5 KiB
  memory: 1 MiB now, 258 MiB at most, 256 live mappings
`
	if r.stdout != want {
		t.Errorf("output (-want +got):\n%s", cmp.Diff(want, r.stdout))
	}
}

// What has no meaning on iWARP is not shown as a number.
func TestRNROnIWARP(t *testing.T) {
	rcv := testReceiver()
	rcv.RNRTimer, rcv.RNRRetry, rcv.RNREffective = 0, nil, 0
	f := &fakeClient{receivers: []ctl.Receiver{rcv}, conns: []ctl.Conn{{ReceiverName: "r0"}}}
	const none = "none: on iWARP a message that finds no receive ends its connection"
	if r := rxctl(t.Context(), f, "recv", "show"); !strings.Contains(r.stdout, "  rnr: "+none+"\n") {
		t.Errorf("recv show prints:\n%s", r.stdout)
	}
	if got := rnrText(statistics{Receiver: rcv}); got != none {
		t.Errorf("stats says %q, want %q", got, none)
	}
	if got := connBlock(ctl.Conn{}); strings.Contains(got, "rnr") {
		t.Errorf("a connection without an RNR timer:\n%s", got)
	}
	for _, args := range []string{"recv show -j", "conn show -j"} {
		if r := rxctl(t.Context(), f, strings.Fields(args)...); r.status != exitDone || strings.Contains(r.stdout, "rnr") {
			t.Errorf("%s: status %d, an RNR timer is shown:\n%s", args, r.status, r.stdout)
		}
	}
	rcv.RNRTimer, rcv.RNRRetry = 640, new(uint32(7))
	if got, want := rnrWait(rcv), "timer 640µs, retried without end"; got != want {
		t.Errorf("without a device: %q, want %q", got, want)
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
	second := testConn()
	second.Index, second.Foreign, second.IdleMS = 2, false, nil
	f := &fakeClient{conns: []ctl.Conn{testConn(), second}}
	r := rxctl(t.Context(), f, "conn", "show")
	r.want(t, exitDone)
	want := `RECV  CONN  STATE  PEER           QPN  CLIENT   MESSAGES  OUTSTANDING  HELD  LOWEST  EMPTY  IDLE
r0    1.4   live   10.9.0.2:4000  17   foreign  1000      256          0     240     0      20ms
r0    2.4   live   10.9.0.2:4000  17   rxpost   1000      256          0     240     0      -
`
	if r.stdout != want {
		t.Errorf("printed (-want +got):\n%s", cmp.Diff(want, r.stdout))
	}
}

func TestConnShowOne(t *testing.T) {
	r := rxctl(t.Context(), &fakeClient{}, "conn", "show", "--recv", "r7", "--conn", "3")
	r.want(t, exitDone)
	want := `connection: 3.4 of r7
  state: live, made 1.5s ago, last message 20ms ago
  peer: 10.9.0.2:4000, foreign
  qp: number 17, receive queue asked 256, granted 511, poller 0
  rnr timer: 640µs
  ledger: posted 1256 = completed 1000 + flushed 0 + failed 0 + reclaimed 0 + outstanding 256
  slots: 256 = outstanding 256 + held 0 + free 0
  received: 1000 messages, 62.5 KiB, 0 with immediate data, of them 0 writes
  posts: 80 calls, 1256 receives, 0.0800 calls per message
  refused: 0 calls, 0 receives; skipped 0
  unexpected: stale 0, bogus 0
  empty: 0 times, lowest 240
  verified: 0, gaps 0, repeats 0, damaged 0, unrecognised 0
`
	if r.stdout != want {
		t.Errorf("printed (-want +got):\n%s", cmp.Diff(want, r.stdout))
	}
	echo := testConn()
	echo.IdleMS, echo.Sends = nil, new(testLedger())
	for _, line := range []string{"last message not yet\n", "  answers: posted 1256 = "} {
		if text := connBlock(echo); !strings.Contains(text, line) {
			t.Errorf("no %q in:\n%s", line, text)
		}
	}
}

// TestHeadings makes sure that scripts can tell columns by their heading.
func TestHeadings(t *testing.T) {
	f := &fakeClient{conns: []ctl.Conn{testConn()}}
	for _, args := range []string{"conn show", "link show"} {
		r := rxctl(t.Context(), f, strings.Fields(args)...)
		lines := strings.Split(r.stdout, "\n")
		if heads, cells := strings.Fields(lines[0]), strings.Fields(lines[1]); len(heads) != len(cells) {
			t.Errorf("%s: %d headings, %d words below:\n%s", args, len(heads), len(cells), r.stdout)
		}
	}
}
