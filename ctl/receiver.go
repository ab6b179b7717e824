// This file owns what a receiver is and what can be asked of one.

package ctl

import "net/netip"

// Receiver is what the kernel says of one receiver; attribute set "receiver".
type Receiver struct {
	ID     uint32        `json:"id"`               // id: never reused while the module is loaded
	Name   string        `json:"name"`             // name
	State  ReceiverState `json:"state"`            // state
	Device string        `json:"device,omitempty"` // device: RDMA device
	Addr   netip.Addr    `json:"addr"`             // addr: local address
	Port   uint16        `json:"port"`             // port: RDMA CM port, TCP port space

	Depth        uint32       `json:"depth"`            // depth: receives to keep posted per connection
	DepthMax     uint32       `json:"depth-max"`        // depth-max: slots per connection and size of its receive queue
	Batch        uint32       `json:"batch"`            // batch: receives handed to the device in one call
	BatchTimeout Microseconds `json:"batch-timeout-us"` // batch-timeout-us: longest wait of a completed slot for its batch
	LowWater     uint32       `json:"low-water"`        // low-water: with so few receives posted no batch is waited for
	SlotSize     uint32       `json:"slot-size"`        // slot-size: bytes of one slot, the largest message that fits
	Segments     []uint32     `json:"segment"`          // segment: bytes of each segment of a slot, one SGE each, in order
	Hold         Microseconds `json:"hold-us"`          // hold-us: how long a message is kept before its slot is posted again; 0 is not at all
	MaxConns     uint32       `json:"max-conns"`        // max-conns: connections admitted at once
	Pollers      uint32       `json:"pollers"`          // pollers: poller threads, each with a CQ of its own
	PollMode     PollMode     `json:"poll-mode"`        // poll-mode
	Budget       uint32       `json:"budget"`           // budget: completions taken in one poll
	Spin         Microseconds `json:"spin-us"`          // spin-us: spin on an empty CQ before sleep, in hybrid mode
	Sink         Sink         `json:"sink"`             // sink
	DrainTimeout Milliseconds `json:"drain-timeout-ms"` // drain-timeout-ms: longest wait for receives at teardown
	IdleTimeout  Milliseconds `json:"idle-timeout-ms"`  // idle-timeout-ms: a connection that received nothing for so long is ended; 0 is never

	// CPUs are those of the pollers: poller n runs on the n-th of them, counted
	// round. Empty when they run anywhere. Attribute cpu.
	CPUs []uint32 `json:"cpu"`
	// Allow has the prefixes that a peer's address must be in. Empty when
	// everybody is let in. Attribute allow.
	Allow []netip.Prefix `json:"allow"`

	// On iWARP nobody is told to wait: a message that finds no receive ends its
	// connection. These are then 0 and nil.
	RNRTimer     Microseconds `json:"rnr-timer-us,omitzero"`     // rnr-timer-us: wait that an empty queue asks of a sender
	RNRRetry     *uint32      `json:"rnr-retry,omitempty"`       // rnr-retry: times a sender may be told to wait; 7 is without end
	RNREffective Microseconds `json:"rnr-effective-us,omitzero"` // rnr-effective-us: what the device makes of rnr-timer-us

	Conns      uint32   `json:"conns"`           // conns: connections that exist now
	Memory     uint64   `json:"memory"`          // memory: bytes of slot memory allocated now
	MemoryMax  uint64   `json:"memory-max"`      // memory-max: bytes of slot memory at max-conns connections
	Mappings   uint64   `json:"mappings"`        // mappings: DMA mappings live now
	CQE        uint32   `json:"cqe"`             // cqe: entries the device granted to each CQ
	Ledger     Ledger   `json:"ledger"`          // ledger: sum over all connections, past and present
	Counters   Counters `json:"counters"`        // counters: sum over all connections, past and present
	PollerPIDs []uint32 `json:"poller-pid"`      // poller-pid: thread ids of the pollers, in poller order; empty without a device
	WorkerPID  uint32   `json:"worker-pid"`      // worker-pid: thread id of the worker, which accepts and ends the connections
	Sends      *Ledger  `json:"sends,omitempty"` // sends: the answers of the echo sink; nil with other sinks
}

// AddrPort returns the address a sender connects to.
func (r Receiver) AddrPort() netip.AddrPort { return netip.AddrPortFrom(r.Addr, r.Port) }

// ReceiverConfig is a request to make or to change a receiver. Name is always
// wanted. Whatever else is nil, empty or zero is not sent (but see CPUs and
// Allow): [Client.Add] then takes the kernel's default, [Client.Set] leaves things as they are.
//
// A field marked fixed can be given to Add alone; Set sends it nevertheless and
// the kernel's refusal names it.
type ReceiverConfig struct {
	Name   string         // name: 1 to [NameLen] bytes
	Device string         // device: RDMA device; must own the address. Fixed
	Addr   netip.AddrPort // addr and port: where to listen. Add wants it. Fixed

	Depth        *uint32       // depth: receives, up to DepthMax
	DepthMax     *uint32       // depth-max: slots. Fixed
	Batch        *uint32       // batch: receives
	BatchTimeout *Microseconds // batch-timeout-us: 0 posts at the end of each turn
	LowWater     *uint32       // low-water: receives
	SlotSize     *uint32       // slot-size: bytes; the sum of Segments if both are given. Fixed
	Segments     []uint32      // segment: bytes of each segment of a slot, in order. Fixed
	Hold         *Microseconds // hold-us: 0 does not hold messages
	MaxConns     *uint32       // max-conns: connections. Fixed
	Pollers      *uint32       // pollers: threads. Fixed
	PollMode     *PollMode     // poll-mode
	Budget       *uint32       // budget: completions, 1 to 16
	Spin         *Microseconds // spin-us
	Sink         *Sink         // sink. Fixed
	RNRTimer     *Microseconds // rnr-timer-us: rounded up to a value of the InfiniBand table
	RNRRetry     *uint32       // rnr-retry: 0 to 7; 7 is without end. Fixed
	DrainTimeout *Milliseconds // drain-timeout-ms
	IdleTimeout  *Milliseconds // idle-timeout-ms: 0 is never

	// CPUs replaces those of the pollers. Empty, not nil, lets all pollers run
	// anywhere. Attribute cpu.
	CPUs *[]uint32
	// Allow replaces the prefixes that a peer's address must be in. Empty, not
	// nil, lets everybody in. Attribute allow.
	Allow *[]netip.Prefix
}
