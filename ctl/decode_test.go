// This file tests the decoders of connections, histograms, the module and
// events.

package ctl

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
)

func TestDecodeConn(t *testing.T) {
	encode := func(ae *netlink.AttributeEncoder) error {
		for _, attr := range []uint16{attrConnReceiverID, attrConnIndex, attrConnGeneration, attrConnQPN,
			attrConnRQAsked, attrConnRQGranted, attrConnPoller, attrConnRNRTimerUS} {
			ae.Uint32(attr, uint32(attr))
		}
		ae.String(attrConnReceiverName, "r0")
		ae.Uint32(attrConnState, uint32(ConnStateLive))
		ae.Flag(attrConnForeign, true)
		ae.Uint64(attrConnIdleMS, 0)
		ae.Uint64(attrConnAgeMS, 1500)
		ae.Nested(attrConnLedger, encodeLedger)
		ae.Nested(attrConnCounters, encodeCounters)
		ae.Nested(attrConnSends, encodeLedger)
		return encodeAddr(ae, attrConnPeerAddr, attrConnPeerPort, netip.MustParseAddrPort("10.9.0.2:40000"))
	}
	want := Conn{
		ReceiverID: 2, ReceiverName: "r0", Index: 4, Generation: 5, State: ConnStateLive, QPN: 7,
		PeerAddr: netip.MustParseAddr("10.9.0.2"), PeerPort: 40000, Foreign: true, RQAsked: 11, RQGranted: 12,
		IdleMS: new(uint64(0)), AgeMS: 1500, Poller: 15, Ledger: wantLedger(), Counters: wantCounters(),
		RNRTimer: 18, Sends: new(wantLedger()),
	}
	got, err := decodeConn(attributes(t, encode))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, netipComparer()); diff != "" {
		t.Errorf("connection (-want +got):\n%s", diff)
	}
	if _, ok := (Conn{}).Idle(); ok {
		t.Error("a connection without a message has an idle time")
	}
}

// encodeBucket writes one bucket.
func encodeBucket(key uint32, count uint64) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrBucketKey, key)
		ae.Uint64(attrBucketCount, count)
		return nil
	}
}

func TestDecodeStats(t *testing.T) {
	encode := func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrStatsReceiverID, 1)
		ae.String(attrStatsReceiverName, "r0")
		ae.Nested(attrStatsChain, encodeBucket(16, 9))
		ae.Nested(attrStatsChain, encodeBucket(3, 1))
		ae.Nested(attrStatsStatus, encodeBucket(5, 256))
		ae.Nested(attrStatsErrno, encodeBucket(12, 2))
		return nil
	}
	got, err := decodeStats(attributes(t, encode))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"receiver-id":1,"receiver-name":"r0","chain":[{"length":16,"count":9},{"length":3,"count":1}],` +
		`"status":[{"status":"wr-flush-err","count":256}],"errno":[{"errno":"ENOMEM","count":2}]}`
	if string(text) != want {
		t.Errorf("stats as JSON:\n got %s\nwant %s", text, want)
	}
}

func TestDecodeInfo(t *testing.T) {
	got, err := decodeInfo(attributes(t, encodeInfo))
	if err != nil {
		t.Fatal(err)
	}
	want := Info{ABI: 1, Version: "0.1.0", Memory: 4096, MemoryLimit: 1 << 30, Mappings: 1, Receivers: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}

// encodeInfo writes the answer of info-get.
func encodeInfo(ae *netlink.AttributeEncoder) error {
	ae.Uint32(attrInfoABI, 1)
	ae.String(attrInfoVersion, "0.1.0")
	ae.Uint64(attrInfoMemory, 4096)
	ae.Uint64(attrInfoMemoryLimit, 1<<30)
	ae.Uint64(attrInfoMappings, 1)
	ae.Uint32(attrInfoReceivers, 2)
	return nil
}

func TestDecodeEvent(t *testing.T) {
	encode := func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrEventType, uint32(EventTypeConnDown))
		ae.Uint64(attrEventTimeNS, 1_000_000_001)
		ae.Uint32(attrEventReceiverID, 3)
		ae.String(attrEventReceiverName, "r0")
		ae.String(attrEventDevice, "rxe0")
		ae.Uint32(attrEventConnIndex, 0)
		ae.Uint32(attrEventQPN, 17)
		ae.String(attrEventReason, "the peer left")
		ae.Nested(attrEventLedger, encodeLedger)
		ae.Uint64(attrEventMappings, 0)
		ae.Uint64(attrEventCount, 9)
		return encodeAddr(ae, attrEventPeerAddr, attrEventPeerPort, netip.MustParseAddrPort("10.9.0.2:4"))
	}
	want := Event{
		Type: EventTypeConnDown, Time: time.Unix(1, 1), ReceiverID: 3, ReceiverName: "r0", Device: "rxe0",
		ConnIndex: new(uint32(0)), QPN: 17, PeerAddr: netip.MustParseAddr("10.9.0.2"), PeerPort: 4,
		Reason: "the peer left", Ledger: new(wantLedger()), Mappings: new(uint64(0)), Count: 9,
	}
	got, err := decodeEvent(attributes(t, encode))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, netipComparer()); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}
