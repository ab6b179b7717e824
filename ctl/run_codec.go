// This file owns the answers about runs.

package ctl

import (
	"fmt"
	"time"

	"github.com/mdlayher/netlink"
)

// decodeRun reads one answer about a run, or a run-done event.
func decodeRun(b []byte) (Run, error) {
	var r Run
	err := decode(b, func(ad *netlink.AttributeDecoder) {
		if !r.decodeConfig(ad) && !r.decodeRoundTrips(ad) {
			r.decodeState(ad)
		}
	})
	if err != nil {
		return Run{}, fmt.Errorf("decode run: %w", err)
	}
	return r, nil
}

// decodeConfig takes the current attribute if it is part of what was asked for.
func (r *Run) decodeConfig(ad *netlink.AttributeDecoder) bool {
	switch ad.Type() {
	case attrSendRunAddr:
		r.Addr = decodeAddr(ad)
	case attrSendRunPort:
		r.Port = decodePort(ad)
	case attrSendRunSize:
		r.Size = ad.Uint32()
	case attrSendRunCount:
		r.Count = ad.Uint64()
	case attrSendRunDurationMS:
		r.Duration = Milliseconds(ad.Uint32())
	case attrSendRunBatch:
		r.Batch = ad.Uint32()
	case attrSendRunInFlight:
		r.InFlight = ad.Uint32()
	case attrSendRunConnectTimeoutMS:
		r.ConnectTimeout = Milliseconds(ad.Uint32())
	case attrSendRunDrainTimeoutMS:
		r.DrainTimeout = Milliseconds(ad.Uint32())
	case attrSendRunRate:
		r.Rate = ad.Uint64()
	case attrSendRunOpcode:
		r.Opcode = Opcode(ad.Uint32())
	case attrSendRunRemoteAddr:
		r.RemoteAddr = ad.Uint64()
	case attrSendRunRkey:
		r.RKey = ad.Uint32()
	case attrSendRunHold:
		r.Hold = true
	default:
		return false
	}
	return true
}

// decodeState takes the current attribute if it says how things are.
func (r *Run) decodeState(ad *netlink.AttributeDecoder) {
	switch ad.Type() {
	case attrSendRunID:
		r.ID = ad.Uint32()
	case attrSendRunState:
		r.State = RunState(ad.Uint32())
	case attrSendRunDevice:
		r.Device = ad.String()
	case attrSendRunQPN:
		r.QPN = ad.Uint32()
	case attrSendRunPosted:
		r.Posted = ad.Uint64()
	case attrSendRunCompleted:
		r.Completed = ad.Uint64()
	case attrSendRunFlushed:
		r.Flushed = ad.Uint64()
	case attrSendRunFailed:
		r.Failed = ad.Uint64()
	case attrSendRunReclaimed:
		r.Reclaimed = ad.Uint64()
	case attrSendRunOutstanding:
		r.Outstanding = ad.Uint32()
	case attrSendRunBytes:
		r.Bytes = ad.Uint64()
	case attrSendRunPostCalls:
		r.PostCalls = ad.Uint64()
	case attrSendRunElapsedNS:
		r.Elapsed = time.Duration(ad.Uint64())
	case attrSendRunStatus:
		b := decodeBucket(ad)
		r.Status = append(r.Status, StatusCount{Status: WCStatus(b.key), Count: b.count})
	case attrSendRunPID:
		r.PID = ad.Uint32()
	case attrSendRunError:
		r.Errno = new(Errno(ad.Uint32()))
	case attrSendRunReason:
		r.Reason = ad.String()
	}
}

// decodeRoundTrips takes the current attribute if it says what came back.
func (r *Run) decodeRoundTrips(ad *netlink.AttributeDecoder) bool {
	t := r.RoundTrips
	if t == nil {
		t = new(RoundTrips)
	}
	switch ad.Type() {
	case attrSendRunRoundTrip:
	case attrSendRunAnswerTimeoutMS:
		t.AnswerTimeout = Milliseconds(ad.Uint32())
	case attrSendRunAnswers:
		t.Answers = ad.Uint64()
	case attrSendRunUnanswered:
		t.Unanswered = ad.Uint64()
	case attrSendRunUnmatched:
		t.Unmatched = ad.Uint64()
	case attrSendRunDamaged:
		t.Damaged = ad.Uint64()
	case attrSendRunForeign:
		t.Foreign = ad.Uint64()
	case attrSendRunRttMinNS:
		t.Min = time.Duration(ad.Uint64())
	case attrSendRunRttMaxNS:
		t.Max = time.Duration(ad.Uint64())
	case attrSendRunRttSumNS:
		t.Sum = time.Duration(ad.Uint64())
	case attrSendRunReceives:
		ad.Nested(decodeLedger(&t.Receives))
	default:
		return false
	}
	r.RoundTrips = t
	return true
}

// Both families must number attribute set "ledger" alike for decodeLedger.
const (
	_ = uint(attrLedgerPosted-attrSendLedgerPosted) + uint(attrSendLedgerPosted-attrLedgerPosted)
	_ = uint(attrLedgerSlots-attrSendLedgerSlots) + uint(attrSendLedgerSlots-attrLedgerSlots)
)
