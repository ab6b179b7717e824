// This file tests round trips: how they are asked for in parts, added up and
// read.

package ctl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
)

// encodeRTT writes an answer about run 2 with the buckets, and where to go on if
// that is not 0.
func encodeRTT(next uint64, buckets ...RTTBucket) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrSendRttID, 2)
		for _, b := range buckets {
			ae.Nested(attrSendRttBucket, func(ae *netlink.AttributeEncoder) error {
				ae.Uint64(attrSendRttBucketFromNS, uint64(b.From))
				ae.Uint64(attrSendRttBucketCount, b.Count)
				return nil
			})
		}
		if next != 0 {
			ae.Uint64(attrSendRttNextNS, next)
		}
		return nil
	}
}

// inParts is a kernel that answers with one bucket at a time; next says where
// the rest of those begins.
func inParts(t *testing.T, buckets []RTTBucket, next func(i int) uint64) genltest.Func {
	t.Helper()
	return genltest.CheckRequest(fakeSendFamilyID, cmdSendRttGet, netlink.Request,
		func(m genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
			var from time.Duration
			if err := decode(m.Data, func(ad *netlink.AttributeDecoder) {
				if ad.Type() == attrSendRttFromNS {
					from = time.Duration(ad.Uint64())
				}
			}); err != nil {
				t.Error(err)
			}
			i := slices.IndexFunc(buckets, func(b RTTBucket) bool { return b.From >= from })
			return []genetlink.Message{message(t, cmdSendRttGet, encodeRTT(next(i), buckets[i]))}, nil
		})
}

func TestRTT(t *testing.T) {
	want := []RTTBucket{{5, 1}, {300, 20}, {4096, 3}}
	c, _ := newFake(t, inParts(t, want, func(i int) uint64 {
		if i+1 < len(want) {
			return uint64(want[i+1].From)
		}
		return 0
	}))
	got, err := c.RTT(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

// TestRTTTurnsBack makes sure that a kernel that goes in circles is left.
func TestRTTTurnsBack(t *testing.T) {
	c, _ := newFake(t, inParts(t, []RTTBucket{{5, 1}}, func(int) uint64 { return 3 }))
	if _, err := c.RTT(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "goes on at 3 ns after 3 ns") {
		t.Errorf("error %v", err)
	}
}

func TestMergeRTT(t *testing.T) {
	got := MergeRTT([]RTTBucket{{5, 1}, {300, 20}}, nil, []RTTBucket{{7, 2}, {300, 1}})
	if diff := cmp.Diff([]RTTBucket{{5, 1}, {7, 2}, {300, 21}}, got); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

func TestPercentile(t *testing.T) {
	buckets := []RTTBucket{{10, 50}, {20, 40}, {30, 9}, {40, 1}}
	for percent, want := range map[float64]time.Duration{
		0: 10, 1: 10, 50: 10, 50.1: 20, 90: 20, 90.5: 30, 99: 30, 99.9: 40, 100: 40,
	} {
		if got := Percentile(buckets, percent); got != want {
			t.Errorf("P%v is %d, want %d", percent, got, want)
		}
	}
	if got := Percentile(nil, 50); got != 0 {
		t.Errorf("P50 of nothing is %v", got)
	}
}

func TestRoundTripsErr(t *testing.T) {
	whole := RoundTrips{Answers: 9, Sum: 27}
	if err := whole.Err(); err != nil || whole.Mean() != 3 || (RoundTrips{}).Mean() != 0 {
		t.Errorf("error %v, mean %v", err, whole.Mean())
	}
	for _, bad := range []RoundTrips{{Unanswered: 1}, {Unmatched: 1}, {Damaged: 1}, {Foreign: 1}} {
		if bad.Err() == nil {
			t.Errorf("%+v is taken for whole", bad)
		}
	}
}
