// This file owns what an event is.

package ctl

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
)

// Event is something that happened to a receiver or a connection; attribute set
// "event". Which fields are set depends on Type.
type Event struct {
	Type         EventType  `json:"type"`                    // type
	Time         time.Time  `json:"time,omitzero"`           // time-ns: when it happened
	ReceiverID   uint32     `json:"receiver-id,omitempty"`   // receiver-id
	ReceiverName string     `json:"receiver-name,omitempty"` // receiver-name
	Device       string     `json:"device,omitempty"`        // device
	ConnIndex    *uint32    `json:"conn-index,omitempty"`    // conn-index; nil when it is not about a connection
	QPN          uint32     `json:"qpn,omitempty"`           // qpn
	PeerAddr     netip.Addr `json:"peer-addr,omitzero"`      // peer-addr
	PeerPort     uint16     `json:"peer-port,omitempty"`     // peer-port
	Reason       string     `json:"reason,omitempty"`        // reason: one sentence
	Ledger       *Ledger    `json:"ledger,omitempty"`        // ledger: final, when something ended
	Mappings     *uint64    `json:"mappings,omitempty"`      // mappings: DMA mappings still live; 0 after a clean teardown
	Count        uint64     `json:"count,omitempty"`         // count: events lost before this one; see [EventTypeLost]
}

// decodeEvent reads one event.
func decodeEvent(b []byte) (Event, error) {
	var e Event
	if err := decode(b, e.decodeAttr); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	return e, nil
}

// decodeAttr takes the current attribute.
func (e *Event) decodeAttr(ad *netlink.AttributeDecoder) {
	switch ad.Type() {
	case attrEventType:
		e.Type = EventType(ad.Uint32())
	case attrEventTimeNS:
		e.Time = time.Unix(0, int64(ad.Uint64()))
	case attrEventReceiverID:
		e.ReceiverID = ad.Uint32()
	case attrEventReceiverName:
		e.ReceiverName = ad.String()
	case attrEventDevice:
		e.Device = ad.String()
	case attrEventConnIndex:
		e.ConnIndex = new(ad.Uint32())
	case attrEventQPN:
		e.QPN = ad.Uint32()
	case attrEventPeerAddr:
		e.PeerAddr = decodeAddr(ad)
	case attrEventPeerPort:
		e.PeerPort = decodePort(ad)
	case attrEventReason:
		e.Reason = ad.String()
	case attrEventLedger:
		e.Ledger = new(Ledger)
		ad.Nested(decodeLedger(e.Ledger))
	case attrEventMappings:
		e.Mappings = new(ad.Uint64())
	case attrEventCount:
		e.Count = ad.Uint64()
	}
}
