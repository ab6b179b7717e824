// This file fuzzes the decoders: whatever comes off a socket, they return.

package ctl

import (
	"testing"

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
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = decode(b) })
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

// FuzzAttrAt looks for an offset that the kernel must not be trusted with.
func FuzzAttrAt(f *testing.F) {
	f.Add([]byte{8, 0, 2, 0, 1, 0, 0, 0}, 20)
	f.Add([]byte{}, -1)
	f.Fuzz(func(_ *testing.T, sent []byte, offset int) { attrAt(receiverAttrs(), sent, offset) })
}
