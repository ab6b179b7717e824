// This file owns what a connection is.

package ctl

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
)

// Conn is what the kernel says of one connection; attribute set "conn".
type Conn struct {
	ReceiverID   uint32     `json:"receiver-id"`       // receiver-id
	ReceiverName string     `json:"receiver-name"`     // receiver-name
	Index        uint32     `json:"index"`             // index: place in its receiver, reused
	Generation   uint32     `json:"generation"`        // generation: tells users of one index apart
	State        ConnState  `json:"state"`             // state
	QPN          uint32     `json:"qpn"`               // qpn: local queue pair number
	PeerAddr     netip.Addr `json:"peer-addr"`         // peer-addr
	PeerPort     uint16     `json:"peer-port"`         // peer-port
	Foreign      bool       `json:"foreign"`           // foreign: the peer is no rxpost_send
	RQAsked      uint32     `json:"rq-asked"`          // rq-asked: receives the QP was created for
	RQGranted    uint32     `json:"rq-granted"`        // rq-granted: receives the device says it granted
	IdleMS       *uint64    `json:"idle-ms,omitempty"` // idle-ms: milliseconds since the last message; nil before the first
	AgeMS        uint64     `json:"age-ms"`            // age-ms: milliseconds since the connection was made
	Poller       uint32     `json:"poller"`            // poller: index of its poller
	Ledger       Ledger     `json:"ledger"`            // ledger
	Counters     Counters   `json:"counters"`          // counters

	RNRTimer Microseconds `json:"rnr-timer-us,omitzero"` // rnr-timer-us: wait that its QP asks for when its queue is empty; 0 on iWARP
	Sends    *Ledger      `json:"sends,omitempty"`       // sends: the answers of the echo sink; nil with other sinks
}

// Peer returns the address and port of the sender.
func (c Conn) Peer() netip.AddrPort { return netip.AddrPortFrom(c.PeerAddr, c.PeerPort) }

// Age returns how long ago the connection was made.
func (c Conn) Age() time.Duration { return time.Duration(c.AgeMS) * time.Millisecond }

// Idle returns how long ago the last message came; ok is false before the first.
func (c Conn) Idle() (idle time.Duration, ok bool) {
	if c.IdleMS == nil {
		return 0, false
	}
	return time.Duration(*c.IdleMS) * time.Millisecond, true
}

// decodeConn reads one answer about a connection.
func decodeConn(b []byte) (Conn, error) {
	var c Conn
	err := decode(b, c.decodeAttr)
	if err != nil {
		return Conn{}, fmt.Errorf("decode connection: %w", err)
	}
	return c, nil
}

// decodeAttr takes the current attribute.
func (c *Conn) decodeAttr(ad *netlink.AttributeDecoder) {
	switch ad.Type() {
	case attrConnReceiverID:
		c.ReceiverID = ad.Uint32()
	case attrConnReceiverName:
		c.ReceiverName = ad.String()
	case attrConnIndex:
		c.Index = ad.Uint32()
	case attrConnGeneration:
		c.Generation = ad.Uint32()
	case attrConnState:
		c.State = ConnState(ad.Uint32())
	case attrConnQPN:
		c.QPN = ad.Uint32()
	case attrConnPeerAddr:
		c.PeerAddr = decodeAddr(ad)
	case attrConnPeerPort:
		c.PeerPort = decodePort(ad)
	case attrConnForeign:
		c.Foreign = ad.Flag()
	case attrConnRQAsked:
		c.RQAsked = ad.Uint32()
	case attrConnRQGranted:
		c.RQGranted = ad.Uint32()
	case attrConnIdleMS:
		c.IdleMS = new(ad.Uint64())
	case attrConnAgeMS:
		c.AgeMS = ad.Uint64()
	case attrConnPoller:
		c.Poller = ad.Uint32()
	case attrConnLedger:
		ad.Nested(decodeLedger(&c.Ledger))
	case attrConnCounters:
		ad.Nested(decodeCounters(&c.Counters))
	case attrConnRNRTimerUS:
		c.RNRTimer = Microseconds(ad.Uint32())
	case attrConnSends:
		c.Sends = new(Ledger)
		ad.Nested(decodeLedger(c.Sends))
	}
}
