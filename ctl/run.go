// This file owns what a run of the traffic source is and what can be asked of
// one.

package ctl

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
)

// Run is what the kernel says of one run; attribute set "run" of rxpost_send.
// Its counters are final in state done.
type Run struct {
	ID             uint32        `json:"id"`                    // id: never reused while the module is loaded
	Addr           netip.Addr    `json:"addr"`                  // addr: where it connects to
	Port           uint16        `json:"port"`                  // port: RDMA CM port, TCP port space
	Size           uint32        `json:"size"`                  // size: bytes in a message
	Count          uint64        `json:"count"`                 // count: messages to send; 0 is without end
	Duration       Milliseconds  `json:"duration-ms"`           // duration-ms: 0 is without end
	Batch          uint32        `json:"batch"`                 // batch: sends posted in one call
	InFlight       uint32        `json:"in-flight"`             // in-flight: most sends posted and not completed
	ConnectTimeout Milliseconds  `json:"connect-timeout-ms"`    // connect-timeout-ms
	DrainTimeout   Milliseconds  `json:"drain-timeout-ms"`      // drain-timeout-ms
	Rate           uint64        `json:"rate"`                  // rate: messages a second at the most; 0 is without limit
	Opcode         Opcode        `json:"opcode"`                // opcode: what each message is
	RemoteAddr     uint64        `json:"remote-addr,omitempty"` // remote-addr: peer's address, of an opcode that names one; only asked for with CAP_NET_ADMIN
	RKey           uint32        `json:"rkey,omitempty"`        // rkey: peer's key, likewise
	Hold           bool          `json:"hold,omitempty"`        // hold: connects, then waits for [Client.ReleaseRuns]
	State          RunState      `json:"state"`                 // state
	Device         string        `json:"device,omitempty"`      // device: RDMA device, once known
	QPN            uint32        `json:"qpn"`                   // qpn: local queue pair number
	Posted         uint64        `json:"posted"`                // posted: sends the device accepted
	Completed      uint64        `json:"completed"`             // completed: acknowledged by the peer, or on iWARP on its way
	Flushed        uint64        `json:"flushed"`               // flushed: given back at the end
	Failed         uint64        `json:"failed"`                // failed: completed in error
	Reclaimed      uint64        `json:"reclaimed"`             // reclaimed: taken back after the QP was destroyed
	Outstanding    uint32        `json:"outstanding"`           // outstanding: in the device's hands now
	Bytes          uint64        `json:"bytes"`                 // bytes: in completed sends
	PostCalls      uint64        `json:"post-calls"`            // post-calls: calls of ib_post_send
	Elapsed        time.Duration `json:"elapsed-ns"`            // elapsed-ns: first post to last completion, or to now
	Status         []StatusCount `json:"status"`                // status: completions by status
	RoundTrips     *RoundTrips   `json:"round-trip,omitempty"`  // round-trip and what came back; nil for a run without
	PID            uint32        `json:"pid,omitempty"`         // pid: thread id; 0 in state done
	Errno          *Errno        `json:"error,omitempty"`       // error: what ended the run; nil when it ended as asked
	Reason         string        `json:"reason,omitempty"`      // reason: why it ended before its time, one sentence
}

// Err returns nil for a run that ended as asked or has not ended, and otherwise
// an [*Error] with the errno and the kernel's sentence.
func (r Run) Err() error {
	if r.Errno == nil {
		return nil
	}
	return &Error{Op: fmt.Sprintf("run %d", r.ID), Message: r.Reason, Err: syscall.Errno(*r.Errno)}
}

// MessagesPerSecond returns completed sends by elapsed time, or 0 before any.
func (r Run) MessagesPerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Completed) / r.Elapsed.Seconds()
}

// RunConfig is a request to send. What is nil is not sent and the kernel's
// default holds.
type RunConfig struct {
	Addr           netip.AddrPort // addr and port: of the receiver; wanted
	Size           *uint32        // size: bytes in a message
	Count          *uint64        // count: messages; 0 is without end
	Duration       *Milliseconds  // duration-ms: 0 is without end
	Batch          *uint32        // batch: sends posted in one call
	InFlight       *uint32        // in-flight: sends
	ConnectTimeout *Milliseconds  // connect-timeout-ms
	DrainTimeout   *Milliseconds  // drain-timeout-ms
	Rate           *uint64        // rate: messages a second; 0 is without limit
	Opcode         *Opcode        // opcode: what each message is
	RemoteAddr     *uint64        // remote-addr: peer's address, for write, write-imm and read
	RKey           *uint32        // rkey: peer's key, for those and for send-inv
	RoundTrip      bool           // round-trip: the peer answers, and the time until then is measured
	AnswerTimeout  *Milliseconds  // answer-timeout-ms: longest wait for any answer; only with RoundTrip
	Hold           bool           // hold: connect, then wait for [Client.ReleaseRuns]
}

// encode writes what is set of c.
func (c RunConfig) encode(ae *netlink.AttributeEncoder) error {
	if !c.Addr.IsValid() {
		return errors.New("a run wants an address to connect to")
	}
	if err := encodeAddr(ae, attrSendRunAddr, attrSendRunPort, c.Addr); err != nil {
		return err
	}
	optional(ae, attrSendRunSize, c.Size)
	optional64(ae, attrSendRunCount, c.Count)
	optional(ae, attrSendRunDurationMS, c.Duration)
	optional(ae, attrSendRunBatch, c.Batch)
	optional(ae, attrSendRunInFlight, c.InFlight)
	optional(ae, attrSendRunConnectTimeoutMS, c.ConnectTimeout)
	optional(ae, attrSendRunDrainTimeoutMS, c.DrainTimeout)
	optional64(ae, attrSendRunRate, c.Rate)
	optional(ae, attrSendRunOpcode, c.Opcode)
	optional64(ae, attrSendRunRemoteAddr, c.RemoteAddr)
	optional(ae, attrSendRunRkey, c.RKey)
	ae.Flag(attrSendRunRoundTrip, c.RoundTrip)
	optional(ae, attrSendRunAnswerTimeoutMS, c.AnswerTimeout)
	ae.Flag(attrSendRunHold, c.Hold)
	return nil
}
