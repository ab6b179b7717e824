// This file tests the messages of runs and what is computed from them.

package ctl

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
)

// encodeRun writes a run, each number that of its attribute.
func encodeRun(state RunState) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		for _, attr := range []uint16{attrSendRunID, attrSendRunSize, attrSendRunDurationMS, attrSendRunBatch,
			attrSendRunInFlight, attrSendRunQPN, attrSendRunOutstanding, attrSendRunConnectTimeoutMS,
			attrSendRunDrainTimeoutMS} {
			ae.Uint32(attr, uint32(attr))
		}
		for _, attr := range []uint16{attrSendRunCount, attrSendRunPosted, attrSendRunCompleted, attrSendRunFlushed,
			attrSendRunFailed, attrSendRunReclaimed, attrSendRunBytes, attrSendRunPostCalls, attrSendRunElapsedNS,
			attrSendRunRate} {
			ae.Uint64(attr, uint64(attr))
		}
		ae.Uint32(attrSendRunState, uint32(state))
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
		ConnectTimeout: 25, DrainTimeout: 26, Rate: 27,
	}
	if diff := cmp.Diff(want, got, netipComparer()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
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
	cfg := RunConfig{Addr: netip.MustParseAddrPort("10.9.0.1:7471"), Size: new(uint32(0)), Batch: new(uint32(16)), Duration: new(Milliseconds(10))}
	got, err := netlink.UnmarshalAttributes(attributes(t, cfg.encode))
	if err != nil {
		t.Fatal(err)
	}
	want := []netlink.Attribute{
		{Type: attrSendRunAddr, Length: 8, Data: []byte{10, 9, 0, 1}},
		{Type: attrSendRunPort, Length: 6, Data: []byte{0x1d, 0x2f}},
		u32(attrSendRunSize, 0), u32(attrSendRunDurationMS, 10), u32(attrSendRunBatch, 16),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
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
