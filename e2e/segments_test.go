package e2e

// This file owns slots of several segments: messages that end just before, at
// and behind each of their borders, and what they cost.

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// header is what rxpost_send writes in front of a payload.
const header = 32

// borders are the sizes around each end of a segment.
func borders(segments []uint32) (sizes []uint32, slot uint32) {
	for _, s := range segments {
		slot += s
		for _, size := range []uint32{slot - 1, slot, slot + 1} {
			if size > 0 {
				sizes = append(sizes, size)
			}
		}
	}
	return sizes[:len(sizes)-1], slot // the last is too long
}

// Every message is verified, wherever the segments part it; the header too may
// lie across several. One byte more than all segments hold is refused.
func TestSegments(t *testing.T) { eachDevice(t, segments) }

func segments(t *testing.T, d device) {
	many := make([]uint32, d.segments)
	for i := range many {
		many[i] = uint32(1 + i)
	}
	for _, segments := range [][]uint32{
		{64, 4032}, {16, 48}, {1, 1, 30, 1}, {31, 1, 1}, {5000, 100}, many,
	} {
		t.Run(strings.Trim(strings.ReplaceAll(fmt.Sprint(segments), " ", "+"), "[]"), func(t *testing.T) {
			r := newRigOn(t, d)
			sizes, slot := borders(segments)
			rcv := r.add(ctl.ReceiverConfig{Segments: segments, Depth: u32(32), Sink: ptr(ctl.SinkVerify)})
			if fmt.Sprint(rcv.Segments) != fmt.Sprint(segments) || rcv.SlotSize != slot {
				t.Errorf("segments %v, slot %d; asked for %v", rcv.Segments, rcv.SlotSize, segments)
			}
			count := uint64(max(4, 160/len(sizes)))
			var n, bytes, verified uint64
			for _, size := range sizes {
				if run := r.sendSize(size, count); run.Completed != count || run.Err() != nil {
					t.Fatalf("size %d: %+v", size, run)
				}
				n, bytes = n+count, bytes+count*uint64(size)
				if size >= header {
					verified += count
				}
			}
			c := r.alone().Counters
			if c.Messages != n || c.Bytes != bytes || c.Verified != verified || c.Unrecognised != n-verified ||
				c.Damaged+c.Gaps+c.Repeats+c.Bogus+c.Stale != 0 {
				t.Errorf("of %d messages, %d bytes, %d with a header: %+v", n, bytes, verified, c)
			}
			if run := r.sendSize(slot+1, 1); !r.iwarp && run.Failed+run.Flushed != 1 {
				t.Errorf("size %d: %+v", slot+1, run)
			}
			r.await("one receive failed", func() bool { return r.receiver().Ledger.Failed == 1 })
			r.deleteSoon()
		})
	}
}

// Each segment is a mapping; the bill covers what is really taken.
func TestSegmentsBill(t *testing.T) {
	r := newRig(t)
	rcv := r.add(ctl.ReceiverConfig{Segments: []uint32{64, 4032}, Depth: u32(64), MaxConns: u32(3)})
	flow := r.flow(3)
	now := r.receiver()
	if now.Mappings != 3*64*2 || now.Memory != rcv.MemoryMax {
		t.Errorf("%d mappings, %d bytes of at most %d", now.Mappings, now.Memory, rcv.MemoryMax)
	}
	// The payload has a page of its own in each slot; 64 headers fit in one.
	if least := uint64(3 * (64*4096 + 4096)); now.Memory < least || now.Memory > least+3*64*128+3*4096 {
		t.Errorf("%d bytes for slots of %d", now.Memory, least)
	}
	flow.vanish()
	r.deleteSoon()
}

func TestSegmentsRefused(t *testing.T) {
	r := newRig(t)
	lots := make([]uint32, 65)
	for i := range lots {
		lots[i] = 8
	}
	for _, tt := range []refusal{
		{"too many for the device", ctl.ReceiverConfig{Segments: lots[:33]}, syscall.E2BIG,
			"a slot of 33 segments is beyond rxe0, which takes 32 a receive", "segment"},
		{"too many", ctl.ReceiverConfig{Segments: lots}, syscall.E2BIG, "a slot has at most 64 segments", "segment"},
		{"empty", ctl.ReceiverConfig{Segments: []uint32{64, 0}}, syscall.ERANGE,
			"segment 1 of 0 bytes is outside 1 to 1048576", "segment"},
		{"huge", ctl.ReceiverConfig{Segments: []uint32{1<<20 + 1}}, syscall.ERANGE,
			"segment 0 of 1048577 bytes is outside 1 to 1048576", "segment"},
		{"huge together", ctl.ReceiverConfig{Segments: []uint32{1 << 19, 1 << 19, 1}}, syscall.ERANGE,
			"segments of 1048577 bytes together are above 1048576", "segment"},
		{"wrong sum", ctl.ReceiverConfig{Segments: []uint32{64, 64}, SlotSize: u32(129)}, syscall.EINVAL,
			"slot 129 is not the sum of its segments, 128", "slot-size"},
	} {
		cfg := tt.cfg
		cfg.Name, cfg.Addr = "r0", listenAddr
		r.refuses(tt, func() error {
			_, err := r.ctl.Add(r.ctx, cfg)
			return err
		})
	}
	r.add(ctl.ReceiverConfig{})
	r.refuses(refusal{"set", ctl.ReceiverConfig{}, syscall.EOPNOTSUPP,
		"slot is fixed; delete the receiver and add it anew", "segment"}, func() error {
		return r.ctl.Set(r.ctx, ctl.ReceiverConfig{Name: "r0", Segments: []uint32{64, 64}})
	})
	r.delete()
}
