// This file owns what the encoders and decoders of all messages share.

package ctl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"

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

// attrHeaderLen is what an attribute takes besides its value, in bytes.
const attrHeaderLen = 4

// encodeString writes a text that must not be empty; what says what it is. How
// long it may be is the kernel's to say, but a length that does not fit the
// attribute's header would let the end of the text pass for attributes.
func encodeString(ae *netlink.AttributeEncoder, attr uint16, what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("%s is missing", what)
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("%s cannot contain a NUL", what)
	case attrHeaderLen+len(text)+1 > math.MaxUint16:
		return fmt.Errorf("%s has %d bytes, which fit no request", what, len(text))
	}
	ae.String(attr, text)
	return nil
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

// encodePrefix writes attribute set "prefix".
func encodePrefix(p netip.Prefix) func(*netlink.AttributeEncoder) error {
	addr, bits := p.Addr(), p.Bits()
	// A peer of IPv4 has an address of 4 bytes; so has the prefix that it is in.
	if mapped := 128 - 32; addr.Is4In6() && bits >= mapped {
		addr, bits = addr.Unmap(), bits-mapped
	}
	return func(ae *netlink.AttributeEncoder) error {
		ae.Bytes(attrPrefixAddr, addr.AsSlice())
		ae.Uint32(attrPrefixLen, uint32(bits))
		return nil
	}
}

// decodePrefix reads attribute set "prefix". A length that is absent is that of
// the address.
func decodePrefix(ad *netlink.AttributeDecoder) (p netip.Prefix) {
	ad.Nested(func(nad *netlink.AttributeDecoder) error {
		var addr netip.Addr
		var bits *uint32
		for nad.Next() {
			switch nad.Type() {
			case attrPrefixAddr:
				addr = decodeAddr(nad)
			case attrPrefixLen:
				bits = new(nad.Uint32())
			}
		}
		if err := nad.Err(); err != nil {
			return err
		}
		if bits == nil {
			bits = new(uint32(addr.BitLen()))
		}
		if !addr.IsValid() || *bits > uint32(addr.BitLen()) {
			return fmt.Errorf("a prefix of address %s has length %d", addr, *bits)
		}
		p = netip.PrefixFrom(addr, int(*bits))
		return nil
	})
	return p
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
