// This file fuzzes the decoders: whatever comes off a socket, they return, and
// what they return can be written as JSON and read again. It also fuzzes what
// reads texts. `make fuzz` runs each target for a while.

package ctl

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// fuzz feeds one decoder, starting from one good message.
func fuzz[T any](f *testing.F, decode func([]byte) (T, error), good func(*netlink.AttributeEncoder) error) {
	f.Helper()
	ae := netlink.NewAttributeEncoder()
	if err := good(ae); err != nil {
		f.Fatal(err)
	}
	b, err := ae.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Add([]byte{4, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := decode(b); err == nil {
			keepsAsJSON(t, v)
		}
	})
}

// keepsAsJSON checks that v is written as JSON, and that what is read from that is
// written the same: whoever reads what rxctl prints by these types loses nothing.
func keepsAsJSON[T any](t *testing.T, v T) {
	t.Helper()
	first, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", v, err)
	}
	var again T
	if err := json.Unmarshal(first, &again); err != nil {
		t.Fatalf("%s cannot be read: %v", first, err)
	}
	if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%s became %s, error %v", first, second, err)
	}
}

func FuzzDecodeReceiver(f *testing.F) { fuzz(f, decodeReceiver, encodeReceiver) }

func FuzzDecodeInfo(f *testing.F) { fuzz(f, decodeInfo, encodeInfo) }

func FuzzDecodeRun(f *testing.F) { fuzz(f, decodeRun, encodeRun(RunStateDone)) }

func FuzzDecodeConn(f *testing.F) {
	fuzz(f, decodeConn, func(ae *netlink.AttributeEncoder) error {
		ae.Bytes(attrConnPeerAddr, make([]byte, 16))
		ae.Flag(attrConnForeign, true)
		ae.Nested(attrConnLedger, encodeLedger)
		ae.Nested(attrConnCounters, encodeCounters)
		return nil
	})
}

func FuzzDecodeStats(f *testing.F) {
	fuzz(f, decodeStats, func(ae *netlink.AttributeEncoder) error {
		ae.Nested(attrStatsChain, encodeBucket(16, 9))
		return nil
	})
}

func FuzzDecodeEvent(f *testing.F) {
	fuzz(f, decodeEvent, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrEventType, uint32(EventTypeLost))
		ae.Uint64(attrEventCount, 3)
		ae.Nested(attrEventLedger, encodeLedger)
		return nil
	})
}

func FuzzDecodeRTT(f *testing.F) {
	fuzz(f, func(b []byte) ([]RTTBucket, error) {
		part, err := decodeRTT(b)
		return part.buckets, err
	}, encodeRTT(300, RTTBucket{5, 1}, RTTBucket{1 << 40, 2}))
}

// FuzzFamilyOf reads messages of the kernel's own.
func FuzzFamilyOf(f *testing.F) {
	f.Add([]byte{11, 0, 2, 0, 'r', 'x', 'p', 'o', 's', 't', 0, 0})
	f.Fuzz(func(_ *testing.T, b []byte) { familyOf(genetlink.Message{Data: b}) })
}

// FuzzUnmarshalText reads what is not a number as each type that has names. What
// is taken is written the same.
func FuzzUnmarshalText(f *testing.F) {
	for _, text := range []string{"listening", "live", "hybrid", "verify", "conn-up", "done", "write-imm", "wr-flush-err",
		"wc-status(22)", "sink(3)", "ENOMEM", "4095", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range []interface {
			encoding.TextUnmarshaler
			fmt.Stringer
		}{new(ReceiverState), new(ConnState), new(PollMode), new(Sink), new(EventType), new(RunState), new(Opcode), new(WCStatus), new(Errno)} {
			if err := v.UnmarshalText([]byte(text)); err == nil && v.String() != text {
				t.Errorf("%T: %q was read as %q", v, text, v)
			}
		}
	})
}

// FuzzUnits converts times, which must come back as they were or be refused.
func FuzzUnits(f *testing.F) {
	f.Add(int64(time.Second))
	f.Add(int64(-1))
	f.Fuzz(func(t *testing.T, n int64) {
		d := time.Duration(n)
		if us, err := MicrosecondsOf(d); err == nil && us.Duration() != d {
			t.Errorf("%v became %v", d, us)
		}
		if ms, err := MillisecondsOf(d); err == nil && ms.Duration() != d {
			t.Errorf("%v became %v", d, ms)
		}
	})
}

// FuzzPrefix writes a prefix as an attribute and reads it again.
func FuzzPrefix(f *testing.F) {
	f.Add("10.9.0.0/24")
	f.Add("::ffff:10.9.0.0/120")
	f.Add("fd00::/8")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return
		}
		r, err := decodeReceiver(attributes(t, func(ae *netlink.AttributeEncoder) error {
			return encodeAllow(ae, &[]netip.Prefix{p})
		}))
		if err != nil || len(r.Allow) != 1 {
			t.Fatalf("%v: %v, %v", p, r.Allow, err)
		}
		want := p
		if mapped := 96; p.Addr().Is4In6() && p.Bits() >= mapped {
			want = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
		}
		if r.Allow[0] != want {
			t.Errorf("%v came back as %v", p, r.Allow[0])
		}
	})
}

// FuzzAttrAt looks for an offset that the kernel must not be trusted with.
func FuzzAttrAt(f *testing.F) {
	f.Add([]byte{8, 0, 2, 0, 1, 0, 0, 0}, 20)
	f.Add([]byte{}, -1)
	f.Fuzz(func(_ *testing.T, sent []byte, offset int) { attrAt(receiverAttrs(), sent, offset) })
}
