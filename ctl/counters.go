// This file owns the counters of a receiver or a connection.

package ctl

import (
	"math"

	"github.com/mdlayher/netlink"
)

// Counters are events since a receiver or a connection was made; attribute set
// "counters". A connection leaves rejected and accepted at 0.
type Counters struct {
	Messages     uint64  `json:"messages"`         // messages: received
	Bytes        uint64  `json:"bytes"`            // bytes: received
	Imm          uint64  `json:"imm"`              // imm: messages with immediate data, RDMA WRITE included
	WriteImm     uint64  `json:"write-imm"`        // write-imm: those of imm that were RDMA WRITEs; each uses up a receive and brings no message
	PostCalls    uint64  `json:"post-calls"`       // post-calls: calls of ib_post_recv
	PostWRs      uint64  `json:"post-wrs"`         // post-wrs: receives handed over in them, refused ones included
	RefusedCalls uint64  `json:"refused-calls"`    // refused-calls: calls that refused at least one receive
	RefusedWRs   uint64  `json:"refused-wrs"`      // refused-wrs: receives refused
	PostSkipped  uint64  `json:"post-skipped"`     // post-skipped: receives not posted because their connection had failed
	Stale        uint64  `json:"stale"`            // stale: completions of an older generation
	Bogus        uint64  `json:"bogus"`            // bogus: completions for a slot that was not posted or does not exist
	Empty        uint64  `json:"empty"`            // empty: times a queue ran empty while its connection was live
	Lowest       *uint32 `json:"lowest,omitempty"` // lowest: fewest receives outstanding on a live connection; nil when not known
	Verified     uint64  `json:"verified"`         // verified: messages with the right header, sequence and checksum
	Gaps         uint64  `json:"gaps"`             // gaps: sequence numbers that never came
	Repeats      uint64  `json:"repeats"`          // repeats: sequence numbers that came again or out of order
	Damaged      uint64  `json:"damaged"`          // damaged: messages whose length or checksum is wrong
	Unrecognised uint64  `json:"unrecognised"`     // unrecognised: messages without an rxpost header
	Polls        uint64  `json:"polls"`            // polls: calls of ib_poll_cq that returned completions
	Sleeps       uint64  `json:"sleeps"`           // sleeps: times a poller went to sleep
	Rejected     uint64  `json:"rejected"`         // rejected: connect requests refused
	Accepted     uint64  `json:"accepted"`         // accepted: connections established
}

// PostsPerMessage returns the calls of ib_post_recv that one message cost, or 0
// before the first message. The first fill of each queue is part of it.
func (c Counters) PostsPerMessage() float64 {
	if c.Messages == 0 {
		return 0
	}
	return float64(c.PostCalls) / float64(c.Messages)
}

// field returns where the counter of an attribute is kept, or nil for lowest,
// which is not a counter, and for what this package does not know.
func (c *Counters) field(attr uint16) *uint64 {
	fields := [...]*uint64{
		attrCountersMessages:     &c.Messages,
		attrCountersBytes:        &c.Bytes,
		attrCountersImm:          &c.Imm,
		attrCountersWriteImm:     &c.WriteImm,
		attrCountersPostCalls:    &c.PostCalls,
		attrCountersPostWRs:      &c.PostWRs,
		attrCountersRefusedCalls: &c.RefusedCalls,
		attrCountersRefusedWRs:   &c.RefusedWRs,
		attrCountersPostSkipped:  &c.PostSkipped,
		attrCountersStale:        &c.Stale,
		attrCountersBogus:        &c.Bogus,
		attrCountersEmpty:        &c.Empty,
		attrCountersVerified:     &c.Verified,
		attrCountersGaps:         &c.Gaps,
		attrCountersRepeats:      &c.Repeats,
		attrCountersDamaged:      &c.Damaged,
		attrCountersUnrecognised: &c.Unrecognised,
		attrCountersPolls:        &c.Polls,
		attrCountersSleeps:       &c.Sleeps,
		attrCountersRejected:     &c.Rejected,
		attrCountersAccepted:     &c.Accepted,
	}
	if int(attr) >= len(fields) {
		return nil
	}
	return fields[attr]
}

// decodeCounters reads attribute set "counters".
func decodeCounters(c *Counters) func(*netlink.AttributeDecoder) error {
	return func(ad *netlink.AttributeDecoder) error {
		for ad.Next() {
			if ad.Type() == attrCountersLowest {
				// The kernel says "none yet" with the largest number.
				if n := ad.Uint32(); n != math.MaxUint32 {
					c.Lowest = &n
				}
			} else if to := c.field(ad.Type()); to != nil {
				*to = ad.Uint64()
			}
		}
		return ad.Err()
	}
}
