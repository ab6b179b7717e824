// This file owns the ledger: where every receive is, and the proof that none is
// missing.

package ctl

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
)

// Ledger says where every receive of one or several queues is. The kernel reads
// it in one piece, so both sums that [Ledger.Balanced] checks hold in each
// reading. All numbers count receives; attribute set "ledger".
type Ledger struct {
	Posted      uint64 `json:"posted"`      // posted: accepted by the device
	Completed   uint64 `json:"completed"`   // completed: ended with success
	Flushed     uint64 `json:"flushed"`     // flushed: ended because their connection did
	Failed      uint64 `json:"failed"`      // failed: ended in error
	Reclaimed   uint64 `json:"reclaimed"`   // reclaimed: taken back after their QP was destroyed
	Outstanding uint32 `json:"outstanding"` // outstanding: in the device's hands now
	Held        uint32 `json:"held"`        // held: completed and waiting for their batch now
	Free        uint32 `json:"free"`        // free: neither posted nor held now
	Slots       uint32 `json:"slots"`       // slots: slots that exist now
}

// Balanced returns nil when
//
//	outstanding = posted - completed - flushed - failed - reclaimed
//	slots = outstanding + held + free
//
// and otherwise an error with the numbers of each sum that does not hold.
func (l Ledger) Balanced() error {
	var errs []error
	left := l.Posted - l.Completed - l.Flushed - l.Failed - l.Reclaimed
	if left != uint64(l.Outstanding) {
		errs = append(errs, fmt.Errorf(
			"ledger: posted %d - completed %d - flushed %d - failed %d - reclaimed %d is not outstanding %d",
			l.Posted, l.Completed, l.Flushed, l.Failed, l.Reclaimed, l.Outstanding))
	}
	if uint64(l.Outstanding)+uint64(l.Held)+uint64(l.Free) != uint64(l.Slots) {
		errs = append(errs, fmt.Errorf("ledger: outstanding %d + held %d + free %d is not slots %d",
			l.Outstanding, l.Held, l.Free, l.Slots))
	}
	return errors.Join(errs...)
}

// decodeLedger reads attribute set "ledger".
func decodeLedger(l *Ledger) func(*netlink.AttributeDecoder) error {
	return func(ad *netlink.AttributeDecoder) error {
		for ad.Next() {
			switch ad.Type() {
			case attrLedgerPosted:
				l.Posted = ad.Uint64()
			case attrLedgerCompleted:
				l.Completed = ad.Uint64()
			case attrLedgerFlushed:
				l.Flushed = ad.Uint64()
			case attrLedgerFailed:
				l.Failed = ad.Uint64()
			case attrLedgerReclaimed:
				l.Reclaimed = ad.Uint64()
			case attrLedgerOutstanding:
				l.Outstanding = ad.Uint32()
			case attrLedgerHeld:
				l.Held = ad.Uint32()
			case attrLedgerFree:
				l.Free = ad.Uint32()
			case attrLedgerSlots:
				l.Slots = ad.Uint32()
			}
		}
		return ad.Err()
	}
}
