// This file owns what the encoders and decoders of all messages share.

package ctl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
)

// decode walks the attributes of one message. Attributes that visit does not
// know are skipped, so that a newer module can say more.
func decode(b []byte, visit func(*netlink.AttributeDecoder)) error {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return err
	}
	for ad.Next() {
		visit(ad)
	}
	return ad.Err()
}

// optional encodes a number of 32 bits that may have been left out.
func optional[T ~uint32](ae *netlink.AttributeEncoder, attr uint16, v *T) {
	if v != nil {
		ae.Uint32(attr, uint32(*v))
	}
}

// optional64 is optional for 64 bits.
func optional64(ae *netlink.AttributeEncoder, attr uint16, v *uint64) {
	if v != nil {
		ae.Uint64(attr, *v)
	}
}

// encodeAddr writes an address and a port, both in network order.
func encodeAddr(ae *netlink.AttributeEncoder, addr, port uint16, ap netip.AddrPort) error {
	ip := ap.Addr().Unmap()
	if ip.Zone() != "" {
		return fmt.Errorf("address %s: a zone cannot be given to the kernel", ip)
	}
	ae.Bytes(addr, ip.AsSlice())
	ae.Bytes(port, binary.BigEndian.AppendUint16(nil, ap.Port()))
	return nil
}

// decodeAddr reads an address of 4 or 16 bytes.
func decodeAddr(ad *netlink.AttributeDecoder) (addr netip.Addr) {
	ad.Do(func(b []byte) error {
		ip, ok := netip.AddrFromSlice(b)
		if !ok {
			return fmt.Errorf("an address has %d bytes, not 4 or 16", len(b))
		}
		addr = ip
		return nil
	})
	return addr
}

// decodePort reads a port in network order.
func decodePort(ad *netlink.AttributeDecoder) (port uint16) {
	ad.Do(func(b []byte) error {
		if len(b) != 2 {
			return fmt.Errorf("a port has %d bytes, not 2", len(b))
		}
		port = binary.BigEndian.Uint16(b)
		return nil
	})
	return port
}

// bucket is one bucket of a histogram.
type bucket struct {
	key   uint32
	count uint64
}

// decodeBucket reads attribute set "bucket"; both families number it alike.
func decodeBucket(ad *netlink.AttributeDecoder) (b bucket) {
	ad.Nested(func(nad *netlink.AttributeDecoder) error {
		var seen int
		for nad.Next() {
			switch nad.Type() {
			case attrBucketKey:
				b.key = nad.Uint32()
				seen++
			case attrBucketCount:
				b.count = nad.Uint64()
				seen++
			}
		}
		if nad.Err() == nil && seen != 2 {
			return errors.New("a bucket lacks its key or its count")
		}
		return nad.Err()
	})
	return b
}

// Both families must number attribute set "bucket" alike for decodeBucket.
const (
	_ = uint(attrBucketKey-attrSendBucketKey) + uint(attrSendBucketKey-attrBucketKey)
	_ = uint(attrBucketCount-attrSendBucketCount) + uint(attrSendBucketCount-attrBucketCount)
)
