// This file tests how numbers and addresses are read.

package main

import (
	"math"
	"testing"
	"time"
)

func TestParseNumber(t *testing.T) {
	tests := []struct {
		text  string
		size  uint64 // as bytes
		count uint64
	}{
		{"0", 0, 0},
		{"4096", 4096, 4096},
		{"4k", 4096, 4000},
		{"4K", 4096, 4000},
		{"2M", 2 << 20, 2e6},
		{"3G", 3 << 30, 3e9},
	}
	for _, tt := range tests {
		if got, err := parseSize(tt.text); uint64(got) != tt.size || err != nil {
			t.Errorf("size %q: %d, %v; want %d", tt.text, got, err, tt.size)
		}
		if got, err := parseCount64(tt.text); got != tt.count || err != nil {
			t.Errorf("count %q: %d, %v; want %d", tt.text, got, err, tt.count)
		}
	}
	for _, text := range []string{"", "k", "4kk", "4m", "-1", "1.5k", "0x10", "4294967296", "4G", "99999999999999999999", "18446744073709551615G"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("size %q was read as %d", text, got)
		}
	}
	if got, err := parseCount64("20000000000000000k"); err == nil {
		t.Errorf("2·10¹⁹ was read as %d", got)
	}
	if got, err := parseCount64("18446744073709551615"); got != math.MaxUint64 || err != nil {
		t.Errorf("the largest count: %d, %v", got, err)
	}
}

func TestParseTime(t *testing.T) {
	tests := map[string]time.Duration{"50us": 50 * time.Microsecond, "50µs": 50 * time.Microsecond, "5s": 5 * time.Second, "0": 0, "1m30s": 90 * time.Second}
	for text, want := range tests {
		if got, err := parseTime(text); got != want || err != nil {
			t.Errorf("time %q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "5.5", "5 s", "s", "soon"} {
		if got, err := parseTime(text); err == nil {
			t.Errorf("time %q was read as %v", text, got)
		}
	}
}

func TestParseAddr(t *testing.T) {
	for text, want := range map[string]string{"10.9.0.1:7471": "10.9.0.1:7471", "[fd00::1]:65535": "[fd00::1]:65535"} {
		if got, err := parseAddr(text); got.String() != want || err != nil {
			t.Errorf("address %q: %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":1", "10.9.0.1:", "10.9.0.1:-1", "[fd00::1]", "[fd00::1:1", "fd00::1", "1:2:3"} {
		if got, err := parseAddr(text); err == nil {
			t.Errorf("address %q was read as %v", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 1000: "1000 B", 4096: "4 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 3 << 40: "3 TiB", 5 << 50: "5120 TiB"} {
		if got := size(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}
