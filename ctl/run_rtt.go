// This file owns round trips: what the kernel counts of a run's answers, and
// how long they took.

package ctl

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
)

// RoundTrips is what came back to a run of round trips. In state done
// [RoundTrips.Unanswered] counts the answers that are missing.
type RoundTrips struct {
	AnswerTimeout Milliseconds  `json:"answer-timeout-ms"` // answer-timeout-ms: longest wait for any answer
	Answers       uint64        `json:"answers"`           // answers: messages that were answered
	Unanswered    uint64        `json:"unanswered"`        // unanswered: messages posted and not answered
	Unmatched     uint64        `json:"unmatched"`         // unmatched: answers to no message that waits for one
	Damaged       uint64        `json:"damaged"`           // damaged: answers unlike the message they answer
	Foreign       uint64        `json:"foreign"`           // foreign: what came and is no answer
	Min           time.Duration `json:"rtt-min-ns"`        // rtt-min-ns: shortest round trip
	Max           time.Duration `json:"rtt-max-ns"`        // rtt-max-ns: longest
	Sum           time.Duration `json:"rtt-sum-ns"`        // rtt-sum-ns: all of them
	Receives      Ledger        `json:"receives"`          // receives: where the receives for answers are
}

// Mean returns the mean round trip, or 0 before any.
func (t RoundTrips) Mean() time.Duration {
	if t.Answers == 0 {
		return 0
	}
	return time.Duration(uint64(t.Sum) / t.Answers)
}

// Err returns nil when every message was answered once and nothing else came,
// and otherwise an error with what is wrong.
func (t RoundTrips) Err() error {
	if t.Unanswered+t.Unmatched+t.Damaged+t.Foreign == 0 {
		return nil
	}
	return fmt.Errorf("of the answers %d are missing, %d answer nothing, %d are damaged and %d are foreign",
		t.Unanswered, t.Unmatched, t.Damaged, t.Foreign)
}

// RTTBucket is how many round trips took about as long; attribute set
// "rtt-bucket". From 256 ns on a bucket is at most 1/128 of From wide.
type RTTBucket struct {
	From  time.Duration `json:"from-ns"` // from-ns: lower edge
	Count uint64        `json:"count"`   // count: round trips
}

// RTT returns the round trips of a run by time, from the shortest on, without
// empty buckets. While the run goes on, their sum and [RoundTrips.Answers] may
// be a few apart.
func (c *Client) RTT(ctx context.Context, id uint32) ([]RTTBucket, error) {
	var all []RTTBucket
	for from := uint64(0); ; {
		part, err := one(ctx, c, rttRequest(id, from), decodeRTT)
		if err != nil {
			return nil, err
		}
		all = append(all, part.buckets...)
		if part.next == nil {
			return all, nil
		}
		if *part.next <= from {
			return nil, &Error{Op: rttOp(id), Err: fmt.Errorf("the kernel goes on at %d ns after %d ns", *part.next, from)}
		}
		from = *part.next
	}
}

func rttOp(id uint32) string { return fmt.Sprintf("show round trips of run %d", id) }

// rttRequest asks for buckets from a lower edge on, in nanoseconds.
func rttRequest(id uint32, from uint64) request {
	return request{op: rttOp(id), family: sendFamilyName, names: sendRttAttrs(), cmd: cmdSendRttGet,
		encode: func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(attrSendRttID, id)
			ae.Uint64(attrSendRttFromNS, from)
			return nil
		}}
}

// rttPart is one answer: as many buckets as fit, and where the rest begins.
type rttPart struct {
	buckets []RTTBucket
	next    *uint64
}

// decodeRTT reads attribute set "rtt".
func decodeRTT(b []byte) (rttPart, error) {
	var part rttPart
	err := decode(b, func(ad *netlink.AttributeDecoder) {
		switch ad.Type() {
		case attrSendRttBucket:
			var bucket RTTBucket
			ad.Nested(decodeRTTBucket(&bucket))
			part.buckets = append(part.buckets, bucket)
		case attrSendRttNextNS:
			part.next = new(ad.Uint64())
		}
	})
	if err != nil {
		return rttPart{}, fmt.Errorf("decode round trips: %w", err)
	}
	return part, nil
}

func decodeRTTBucket(b *RTTBucket) func(*netlink.AttributeDecoder) error {
	return func(ad *netlink.AttributeDecoder) error {
		for ad.Next() {
			switch ad.Type() {
			case attrSendRttBucketFromNS:
				b.From = time.Duration(ad.Uint64())
			case attrSendRttBucketCount:
				b.Count = ad.Uint64()
			}
		}
		return ad.Err()
	}
}

// MergeRTT adds up the buckets of several runs.
func MergeRTT(runs ...[]RTTBucket) []RTTBucket {
	counts := map[time.Duration]uint64{}
	for _, buckets := range runs {
		for _, b := range buckets {
			counts[b.From] += b.Count
		}
	}
	merged := make([]RTTBucket, 0, len(counts))
	for from, count := range counts {
		merged = append(merged, RTTBucket{from, count})
	}
	slices.SortFunc(merged, func(a, b RTTBucket) int { return cmp.Compare(a.From, b.From) })
	return merged
}

// Percentile returns the time within which percent of all round trips came
// back: the lower edge of the bucket it lies in, so at most 1 % too short. It
// is 0 when there is none.
func Percentile(buckets []RTTBucket, percent float64) time.Duration {
	var total, seen uint64
	for _, b := range buckets {
		total += b.Count
	}
	rank := uint64(math.Ceil(float64(total) * percent / 100))
	for _, b := range buckets {
		if seen += b.Count; seen >= max(rank, 1) {
			return b.From
		}
	}
	return 0
}
