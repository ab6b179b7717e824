// This file fuzzes what reads the command line: whatever is typed, it is read or
// refused, and what was read can be written so that it is read the same.

package main

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// again reads a text, and what was read once more as it is written.
func again[T comparable](t *testing.T, text string, parse func(string) (T, error), written func(T) string) {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		return
	}
	if w, err := parse(written(v)); err != nil || w != v {
		t.Errorf("%q was read as %v, and %q as %v, error %v", text, v, written(v), w, err)
	}
}

func plain[T any](v T) string { return fmt.Sprint(v) }

func FuzzParseNumber(f *testing.F) {
	for _, text := range []string{"0", "4k", "2M", "18446744073709551615", "4294967296", "-1", "k"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		again(t, text, parseCount, plain)
		again(t, text, parseCount64, plain)
		again(t, text, parseSize, plain)
		again(t, text, parseCPU, plain)
		again(t, text, parseKey[uint32], plain)
		again(t, text, parseKey[uint64], plain)
	})
}

func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"50us", "1m30s", "0", "5", "-1s", "0.5us", "2562047h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		again(t, text, parseTime, time.Duration.String)
		again(t, text, parseMicroseconds, plain)
		again(t, text, parseMilliseconds, plain)
	})
}

func FuzzParseAddr(f *testing.F) {
	for _, text := range []string{"10.9.0.1:7471", "[fd00::1]:7471", "[fe80::1%eth0]:1", "::1", "[::ffff:10.9.0.1]:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { again(t, text, parseAddr, netip.AddrPort.String) })
}

func FuzzParsePrefix(f *testing.F) {
	for _, text := range []string{"10.9.0.0/24", "fd00::/8", "10.9.0.1", "any", "::ffff:10.9.0.0/120", "::1%lo"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		again(t, text, parsePrefix, netip.Prefix.String)
		if p, err := parsePrefix(text); err == nil && !p.IsValid() {
			t.Errorf("%q was read as %v", text, p)
		}
	})
}

// FuzzFlags gives flags of several parts twice: what the second holds counts, or
// is added, or both are refused.
func FuzzFlags(f *testing.F) {
	f.Add("4096", "64+4032")
	f.Add("any", "0,1")
	f.Add("0,,1", "")
	f.Fuzz(func(t *testing.T, first, second string) {
		var size *uint32
		var segments []uint32
		slot := slotFlag{&size, &segments}
		if slot.Set(first) == nil && slot.Set(second) == nil && (size == nil) == (len(segments) < 2) {
			t.Errorf("--slot %q --slot %q: size %v, segments %v", first, second, size, segments)
		}
		var cpus *[]uint32
		list := listFlag[uint32]{to: &cpus, kind: "CPUs", parse: parseCPU}
		if list.Set(first) == nil && list.Set(second) == nil && (first == anyText || second == anyText || len(*cpus) < 2) {
			t.Errorf("--cpu %q --cpu %q: %v", first, second, *cpus)
		}
	})
}
