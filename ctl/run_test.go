// This file tests the messages of runs and what is computed from them.

package ctl

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mdlayher/netlink"
)

// encodeRun writes a run, each number that of its attribute.
func encodeRun(state RunState) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		for _, attr := range []uint16{attrSendRunID, attrSendRunSize, attrSendRunDurationMS, attrSendRunBatch,
			attrSendRunInFlight, attrSendRunQPN, attrSendRunOutstanding, attrSendRunConnectTimeoutMS,
			attrSendRunDrainTimeoutMS, attrSendRunRkey, attrSendRunAnswerTimeoutMS, attrSendRunPID} {
			ae.Uint32(attr, uint32(attr))
		}
		for _, attr := range []uint16{attrSendRunCount, attrSendRunPosted, attrSendRunCompleted, attrSendRunFlushed,
			attrSendRunFailed, attrSendRunReclaimed, attrSendRunBytes, attrSendRunPostCalls, attrSendRunElapsedNS,
			attrSendRunRate, attrSendRunRemoteAddr, attrSendRunAnswers, attrSendRunUnanswered, attrSendRunUnmatched,
			attrSendRunDamaged, attrSendRunForeign, attrSendRunRttMinNS, attrSendRunRttMaxNS, attrSendRunRttSumNS} {
			ae.Uint64(attr, uint64(attr))
		}
		ae.Uint32(attrSendRunState, uint32(state))
		ae.Uint32(attrSendRunOpcode, uint32(OpcodeWriteImm))
		ae.Flag(attrSendRunRoundTrip, true)
		ae.Flag(attrSendRunHold, true)
		ae.Nested(attrSendRunReceives, encodeLedger)
		ae.String(attrSendRunDevice, "rxe0")
		ae.Nested(attrSendRunStatus, encodeBucket(0, 14))
		ae.Uint32(attrSendRunError, uint32(syscall.ECONNREFUSED))
		ae.String(attrSendRunReason, "nobody listens")
		return encodeAddr(ae, attrSendRunAddr, attrSendRunPort, netip.MustParseAddrPort("10.9.0.1:7471"))
	}
}

func TestDecodeRun(t *testing.T) {
	got, err := decodeRun(attributes(t, encodeRun(RunStateStopping)))
	if err != nil {
		t.Fatal(err)
	}
	want := Run{
		ID: 2, Addr: netip.MustParseAddr("10.9.0.1"), Port: 7471, Size: 5, Count: 6, Duration: 7, Batch: 8, InFlight: 9,
		State: RunStateStopping, Device: "rxe0", QPN: 12, Posted: 13, Completed: 14, Flushed: 15, Failed: 16,
		Reclaimed: 17, Outstanding: 18, Bytes: 19, PostCalls: 20, Elapsed: 21,
		Status: []StatusCount{{WCSuccess, 14}}, Errno: new(Errno(syscall.ECONNREFUSED)), Reason: "nobody listens",
		ConnectTimeout: 25, DrainTimeout: 26, Rate: 27, Opcode: OpcodeWriteImm, RemoteAddr: 29, RKey: 30, Hold: true, PID: 43,
		RoundTrips: &RoundTrips{
			AnswerTimeout: 32, Answers: 34, Unanswered: 35, Unmatched: 36, Damaged: 37, Foreign: 38,
			Min: 39, Max: 40, Sum: 41, Receives: wantLedger(),
		},
	}
	if diff := cmp.Diff(want, got, netipComparer()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

// TestDecodePlainRun makes sure that a run without round trips has none.
func TestDecodePlainRun(t *testing.T) {
	got, err := decodeRun(attributes(t, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrSendRunID, 2)
		return nil
	}))
	if err != nil || got.RoundTrips != nil || got.Hold {
		t.Errorf("run %+v, error %v; want no round trips", got, err)
	}
}

// TestRunJSON holds the keys that scripts rely on: each is the name of an
// attribute.
func TestRunJSON(t *testing.T) {
	r, err := decodeRun(attributes(t, encodeRun(RunStateDone)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	back, ok := keys["round-trip"].(map[string]any)
	if !ok {
		t.Fatalf("round-trip is %v, want an object", keys["round-trip"])
	}
	for key, value := range back {
		keys[key] = value
	}
	for _, name := range sendRunAttrs() {
		if _, ok := keys[name]; !ok && name != "" && name != "pad" {
			t.Errorf("attribute %s has no key in the JSON", name)
		}
		delete(keys, name)
	}
	for key := range keys {
		t.Errorf("key %s is no attribute", key)
	}
}

func TestRunErr(t *testing.T) {
	if err := (Run{State: RunStateDone}).Err(); err != nil {
		t.Errorf("a run that ended as asked has error %v", err)
	}
	err := Run{ID: 4, Errno: new(Errno(syscall.ECONNREFUSED)), Reason: "nobody listens"}.Err()
	if !errors.Is(err, syscall.ECONNREFUSED) || err.Error() != "run 4: nobody listens" {
		t.Errorf("run error is %q, want the kernel's sentence and ECONNREFUSED", err)
	}
}

func TestRunConfigEncode(t *testing.T) {
	addr := netip.MustParseAddrPort("10.9.0.1:7471")
	head := []netlink.Attribute{
		{Type: attrSendRunAddr, Length: 8, Data: []byte{10, 9, 0, 1}},
		{Type: attrSendRunPort, Length: 6, Data: []byte{0x1d, 0x2f}},
	}
	for name, tt := range map[string]struct {
		cfg  RunConfig
		want []netlink.Attribute
	}{
		"numbers": {
			RunConfig{Addr: addr, Size: new(uint32(0)), Batch: new(uint32(16)), Duration: new(Milliseconds(10))},
			[]netlink.Attribute{u32(attrSendRunSize, 0), u32(attrSendRunDurationMS, 10), u32(attrSendRunBatch, 16)},
		},
		"opcode": {
			RunConfig{Addr: addr, Opcode: new(OpcodeRead), RKey: new(uint32(7))},
			[]netlink.Attribute{u32(attrSendRunOpcode, 5), u32(attrSendRunRkey, 7)},
		},
		"flags": {
			RunConfig{Addr: addr, RoundTrip: true, AnswerTimeout: new(Milliseconds(9)), Hold: true},
			[]netlink.Attribute{
				{Type: attrSendRunRoundTrip, Length: 4}, u32(attrSendRunAnswerTimeoutMS, 9),
				{Type: attrSendRunHold, Length: 4},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := netlink.UnmarshalAttributes(attributes(t, tt.cfg.encode))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Concat(head, tt.want), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesPerSecond(t *testing.T) {
	if got := (Run{Completed: 5}).MessagesPerSecond(); got != 0 {
		t.Errorf("without time: %v, want 0", got)
	}
	if got := (Run{Completed: 50, Elapsed: 2 * time.Second}).MessagesPerSecond(); got != 25 {
		t.Errorf("50 in 2 s: %v, want 25", got)
	}
}
