// This file tests encoders and decoders, message by message.

package ctl

import (
	"encoding/binary"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
)

// netipComparer lets cmp look at addresses, whose fields are private.
func netipComparer() cmp.Option {
	return cmp.Options{
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
}

// u32 is an attribute of 32 bits as it goes over the wire.
func u32(attr uint16, v uint32) netlink.Attribute {
	return netlink.Attribute{Type: attr, Length: 8, Data: binary.NativeEndian.AppendUint32(nil, v)}
}

// nest is an attribute made of others.
func nest(attr uint16, inner ...netlink.Attribute) netlink.Attribute {
	data, err := netlink.MarshalAttributes(inner)
	if err != nil {
		panic(err)
	}
	return netlink.Attribute{Type: netlink.Nested | attr, Length: uint16(attrHeaderLen + len(data)), Data: data}
}

// prefix is a prefix of peers as it goes over the wire.
func prefix(bits uint32, addr ...byte) netlink.Attribute {
	return nest(attrReceiverAllow, netlink.Attribute{Type: attrPrefixAddr, Data: addr}, u32(attrPrefixLen, bits))
}

func TestReceiverConfigEncode(t *testing.T) {
	full := ReceiverConfig{
		Name: "r0", Device: "rxe0", Addr: netip.MustParseAddrPort("10.9.0.1:7471"),
		Depth: new(uint32(1)), DepthMax: new(uint32(2)), Batch: new(uint32(3)), BatchTimeout: new(Microseconds(4)),
		LowWater: new(uint32(5)), SlotSize: new(uint32(6)), MaxConns: new(uint32(7)), Pollers: new(uint32(8)),
		PollMode: new(PollModeBusy), Budget: new(uint32(10)), Spin: new(Microseconds(11)), Sink: new(SinkVerify),
		RNRTimer: new(Microseconds(13)), RNRRetry: new(uint32(0)), DrainTimeout: new(Milliseconds(15)),
		Segments: []uint32{2, 4}, Hold: new(Microseconds(17)), IdleTimeout: new(Milliseconds(18)), CPUs: &[]uint32{1, 0, 1},
		Allow: &[]netip.Prefix{
			netip.MustParsePrefix("10.9.0.0/24"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("::ffff:10.8.0.0/112"),
		},
	}
	name := netlink.Attribute{Type: attrReceiverName, Length: 7, Data: []byte("r0\x00")}
	tests := []struct {
		name string
		cfg  ReceiverConfig
		want []netlink.Attribute
	}{
		{"nothing but a name", ReceiverConfig{Name: "r0"}, []netlink.Attribute{name}},
		{"IPv6, and 4 in 6", ReceiverConfig{Name: "r0", Addr: netip.MustParseAddrPort("[::ffff:10.9.0.1]:1")}, []netlink.Attribute{
			name,
			{Type: attrReceiverAddr, Length: 8, Data: []byte{10, 9, 0, 1}},
			{Type: attrReceiverPort, Length: 6, Data: []byte{0, 1}},
		}},
		{"everything off", ReceiverConfig{
			Name: "r0", Hold: new(Microseconds(0)), IdleTimeout: new(Milliseconds(0)), CPUs: &[]uint32{}, Allow: &[]netip.Prefix{},
		}, []netlink.Attribute{
			name, u32(attrReceiverHoldUS, 0), u32(attrReceiverIdleTimeoutMS, 0), u32(attrReceiverCpu, math.MaxUint32), nest(attrReceiverAllow),
		}},
		{"all", full, []netlink.Attribute{
			name,
			{Type: attrReceiverDevice, Length: 9, Data: []byte("rxe0\x00")},
			{Type: attrReceiverAddr, Length: 8, Data: []byte{10, 9, 0, 1}},
			{Type: attrReceiverPort, Length: 6, Data: []byte{0x1d, 0x2f}},
			u32(attrReceiverDepth, 1), u32(attrReceiverDepthMax, 2), u32(attrReceiverBatch, 3),
			u32(attrReceiverBatchTimeoutUS, 4), u32(attrReceiverLowWater, 5), u32(attrReceiverSlotSize, 6),
			u32(attrReceiverMaxConns, 7), u32(attrReceiverPollers, 8), u32(attrReceiverPollMode, 1),
			u32(attrReceiverBudget, 10), u32(attrReceiverSpinUS, 11), u32(attrReceiverSink, 1),
			u32(attrReceiverRNRTimerUS, 13), u32(attrReceiverRNRRetry, 0), u32(attrReceiverDrainTimeoutMS, 15),
			u32(attrReceiverSegment, 2), u32(attrReceiverSegment, 4), u32(attrReceiverHoldUS, 17), u32(attrReceiverIdleTimeoutMS, 18),
			u32(attrReceiverCpu, 1), u32(attrReceiverCpu, 0), u32(attrReceiverCpu, 1),
			prefix(24, 10, 9, 0, 0), prefix(8, netip.MustParseAddr("fd00::").AsSlice()...), prefix(16, 10, 8, 0, 0),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := netlink.UnmarshalAttributes(attributes(t, tt.cfg.encode))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigRefused(t *testing.T) {
	for want, cfg := range map[string]ReceiverConfig{
		"the name of a receiver is missing":           {},
		"the name of a receiver cannot contain a NUL": {Name: "r0\x00"},
		"the name of a receiver has 65531 bytes":      {Name: strings.Repeat("x", 65531)},
		"the name of a device has 70000 bytes":        {Name: "r0", Device: strings.Repeat("x", 70000)},
		"a zone cannot be given":                      {Name: "r0", Addr: netip.MustParseAddrPort("[fe80::1%eth0]:1")},
		"no CPU has number 4294967295":                {Name: "r0", CPUs: &[]uint32{0, math.MaxUint32}},
		"a prefix of peers wants an address":          {Name: "r0", Allow: &[]netip.Prefix{{}}},
	} {
		if err := cfg.encode(netlink.NewAttributeEncoder()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	longest := ReceiverConfig{Name: strings.Repeat("x", 65530)}
	if got := attrString(attributes(t, longest.encode), attrReceiverName); got != longest.Name {
		t.Errorf("a name of 65530 bytes went over the wire with %d", len(got))
	}
	if err := (RunConfig{}).encode(netlink.NewAttributeEncoder()); err == nil {
		t.Error("a run without an address was encoded")
	}
}

// encodeLedger writes a ledger with recognisable numbers.
func encodeLedger(ae *netlink.AttributeEncoder) error {
	ae.Uint64(attrLedgerPosted, 100)
	ae.Uint64(attrLedgerCompleted, 60)
	ae.Uint64(attrLedgerFlushed, 20)
	ae.Uint64(attrLedgerFailed, 4)
	ae.Uint64(attrLedgerReclaimed, 6)
	ae.Uint32(attrLedgerOutstanding, 10)
	ae.Uint32(attrLedgerHeld, 3)
	ae.Uint32(attrLedgerFree, 2)
	ae.Uint32(attrLedgerSlots, 15)
	return nil
}

// wantLedger is what encodeLedger wrote.
func wantLedger() Ledger {
	return Ledger{Posted: 100, Completed: 60, Flushed: 20, Failed: 4, Reclaimed: 6, Outstanding: 10, Held: 3, Free: 2, Slots: 15}
}

// encodeCounters writes counters, each with its attribute's number.
func encodeCounters(ae *netlink.AttributeEncoder) error {
	for attr := uint16(attrCountersMessages); attr <= attrCountersWriteImm; attr++ {
		if attr == attrCountersLowest {
			ae.Uint32(attr, uint32(attr))
			continue
		}
		ae.Uint64(attr, uint64(attr))
	}
	return nil
}

// wantCounters is what encodeCounters wrote.
func wantCounters() Counters {
	return Counters{
		Messages: 2, Bytes: 3, Imm: 4, PostCalls: 5, PostWRs: 6, RefusedCalls: 7, RefusedWRs: 8, PostSkipped: 9,
		Stale: 10, Bogus: 11, Empty: 12, Lowest: new(uint32(13)), Verified: 14, Gaps: 15, Repeats: 16, Damaged: 17,
		Unrecognised: 18, Polls: 19, Sleeps: 20, Rejected: 21, Accepted: 22, WriteImm: 23,
	}
}

// encodeReceiver writes a receiver, each number that of its attribute.
func encodeReceiver(ae *netlink.AttributeEncoder) error {
	for _, attr := range []uint16{
		attrReceiverID, attrReceiverDepth, attrReceiverDepthMax, attrReceiverBatch, attrReceiverBatchTimeoutUS,
		attrReceiverLowWater, attrReceiverSlotSize, attrReceiverMaxConns, attrReceiverPollers, attrReceiverBudget,
		attrReceiverSpinUS, attrReceiverRNRTimerUS, attrReceiverRNRRetry, attrReceiverDrainTimeoutMS,
		attrReceiverRNREffectiveUS, attrReceiverConns, attrReceiverCQE, attrReceiverHoldUS, attrReceiverIdleTimeoutMS,
	} {
		ae.Uint32(attr, uint32(attr))
	}
	for _, attr := range []uint16{attrReceiverMemory, attrReceiverMemoryMax, attrReceiverMappings} {
		ae.Uint64(attr, uint64(attr))
	}
	ae.Uint32(attrReceiverState, uint32(ReceiverStateClosing))
	ae.Uint32(attrReceiverPollMode, uint32(PollModeEvent))
	ae.Uint32(attrReceiverSink, uint32(SinkEcho))
	ae.String(attrReceiverName, "r0")
	ae.String(attrReceiverDevice, "rxe0")
	ae.Nested(attrReceiverLedger, encodeLedger)
	ae.Nested(attrReceiverCounters, encodeCounters)
	ae.Uint32(attrReceiverPollerPID, 41)
	ae.Uint32(attrReceiverPollerPID, 42)
	ae.Uint32(attrReceiverWorkerPID, 43)
	for n := range uint32(2) {
		ae.Uint32(attrReceiverSegment, 64+n)
		ae.Uint32(attrReceiverCpu, n)
	}
	ae.Nested(attrReceiverAllow, encodePrefix(netip.MustParsePrefix("10.9.0.0/24")))
	ae.Nested(attrReceiverAllow, func(ae *netlink.AttributeEncoder) error {
		ae.Bytes(attrPrefixAddr, netip.MustParseAddr("fd00::2").AsSlice())
		return nil
	})
	ae.Nested(attrReceiverSends, encodeLedger)
	ae.Uint32(999, 1) // of a module newer than we are
	return encodeAddr(ae, attrReceiverAddr, attrReceiverPort, netip.MustParseAddrPort("[fd00::1]:7471"))
}

// wantReceiver is what encodeReceiver wrote.
func wantReceiver() Receiver {
	return Receiver{
		ID: 2, Name: "r0", State: ReceiverStateClosing, Device: "rxe0", Addr: netip.MustParseAddr("fd00::1"), Port: 7471,
		Depth: 8, DepthMax: 9, Batch: 10, BatchTimeout: 11, LowWater: 12, SlotSize: 13, MaxConns: 14, Pollers: 15,
		PollMode: PollModeEvent, Budget: 17, Spin: 18, Sink: SinkEcho, RNRTimer: 20, RNRRetry: new(uint32(21)), DrainTimeout: 22,
		RNREffective: 23, Conns: 24, Memory: 25, MemoryMax: 26, Mappings: 27, CQE: 28,
		Ledger: wantLedger(), Counters: wantCounters(), PollerPIDs: []uint32{41, 42}, WorkerPID: 43,
		Segments: []uint32{64, 65}, Hold: 33, IdleTimeout: 34, CPUs: []uint32{0, 1},
		Allow: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24"), netip.MustParsePrefix("fd00::2/128")}, Sends: new(wantLedger()),
	}
}

func TestDecodeReceiver(t *testing.T) {
	got, err := decodeReceiver(attributes(t, encodeReceiver))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantReceiver(), got, netipComparer()); diff != "" {
		t.Errorf("receiver (-want +got):\n%s", diff)
	}
}

// TestDecodeMalformed feeds each kind of attribute what it must refuse.
func TestDecodeMalformed(t *testing.T) {
	tests := []struct {
		name string
		data []byte
	}{
		{"cut header", []byte{1, 0}},
		{"number of the wrong size", attributes(t, func(ae *netlink.AttributeEncoder) error {
			ae.Uint16(attrReceiverDepth, 1)
			return nil
		})},
		{"address of 5 bytes", attributes(t, func(ae *netlink.AttributeEncoder) error {
			ae.Bytes(attrReceiverAddr, make([]byte, 5))
			return nil
		})},
		{"port of 4 bytes", attributes(t, func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(attrReceiverPort, 1)
			return nil
		})},
		{"prefix longer than its address", attributes(t, func(ae *netlink.AttributeEncoder) error {
			ae.Nested(attrReceiverAllow, func(ae *netlink.AttributeEncoder) error {
				ae.Bytes(attrPrefixAddr, make([]byte, 4))
				ae.Uint32(attrPrefixLen, 33)
				return nil
			})
			return nil
		})},
		{"prefix without an address", attributes(t, func(ae *netlink.AttributeEncoder) error {
			ae.Nested(attrReceiverAllow, func(ae *netlink.AttributeEncoder) error {
				ae.Uint32(attrPrefixLen, 0)
				return nil
			})
			return nil
		})},
		{"ledger with a short counter", attributes(t, func(ae *netlink.AttributeEncoder) error {
			ae.Nested(attrReceiverLedger, func(ae *netlink.AttributeEncoder) error {
				ae.Uint32(attrLedgerPosted, 1)
				return nil
			})
			return nil
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if r, err := decodeReceiver(tt.data); err == nil {
				t.Errorf("decoded as %+v", r)
			}
		})
	}
	half := attributes(t, func(ae *netlink.AttributeEncoder) error {
		ae.Nested(attrStatsChain, func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(attrBucketKey, 1)
			return nil
		})
		return nil
	})
	if s, err := decodeStats(half); err == nil {
		t.Errorf("half a bucket was decoded as %+v", s)
	}
}

// encodeLowest writes a receiver with nothing but its lowest level.
func encodeLowest(level uint32) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Nested(attrReceiverCounters, func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(attrCountersLowest, level)
			return nil
		})
		return nil
	}
}
