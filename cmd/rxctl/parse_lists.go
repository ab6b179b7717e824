// This file owns flags whose value has several parts, and texts that must not
// be empty.

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// slotFlag is the size of a slot or, joined by plus signs, those of its
// segments. It stays nil unless given.
type slotFlag struct {
	size     **uint32
	segments *[]uint32
}

// String is what help shows as the default: nothing.
func (f *slotFlag) String() string { return "" }

// Type is what help calls the value.
func (f *slotFlag) Type() string { return "bytes[+bytes]" }

// Set reads the value.
func (f *slotFlag) Set(text string) error {
	var sizes []uint32
	for part := range strings.SplitSeq(text, "+") {
		n, err := parseSize(part)
		if err != nil {
			return err
		}
		sizes = append(sizes, n)
	}
	*f.size, *f.segments = nil, nil // of the same flag, given before
	if len(sizes) == 1 {
		*f.size = &sizes[0]
	} else {
		*f.segments = sizes
	}
	return nil
}

// anyText is how a list is given that holds nothing and so excludes nothing.
const anyText = "any"

// listFlag is a list that can be given with commas, with several flags, or
// both. It stays nil unless given; given as "any" it is empty.
type listFlag[T any] struct {
	to    **[]T
	kind  string
	parse func(string) (T, error)
}

// String is what help shows as the default: nothing.
func (f *listFlag[T]) String() string { return "" }

// Type is what help calls the value.
func (f *listFlag[T]) Type() string { return f.kind }

// GetSlice lets completion offer the flag again after it was given.
func (f *listFlag[T]) GetSlice() []string { return nil }

// Set adds to the list.
func (f *listFlag[T]) Set(text string) error {
	list := []T{}
	given := *f.to != nil
	if given {
		list = **f.to
	}
	if text == anyText || given && len(list) == 0 {
		if given {
			return fmt.Errorf("%q stands alone", anyText)
		}
		*f.to = &list
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		v, err := f.parse(part)
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	*f.to = &list
	return nil
}

// parseCPU reads the number of a CPU.
func parseCPU(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is no CPU: write numbers with commas, like 0,1, or any", text)
	}
	return uint32(n), nil
}

// parsePrefix reads a range of addresses, or one address.
func parsePrefix(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p, nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is no range of addresses: write 10.9.0.0/24, fd00::/8, one address, or any", text)
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// textFlag is a text that stays empty unless given, and cannot be given so: an
// empty name would pass for none.
type textFlag struct {
	to   *string
	kind string
}

// String is what help shows as the default: nothing.
func (f *textFlag) String() string { return "" }

// Type is what help calls the value.
func (f *textFlag) Type() string { return f.kind }

// Set takes the value.
func (f *textFlag) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*f.to = text
	return nil
}
