// This file owns the messages of receivers, both ways.

package ctl

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"github.com/mdlayher/netlink"
)

// encode writes what is set of c.
func (c ReceiverConfig) encode(ae *netlink.AttributeEncoder) error {
	if err := encodeString(ae, attrReceiverName, "the name of a receiver", c.Name); err != nil {
		return err
	}
	if c.Device != "" {
		if err := encodeString(ae, attrReceiverDevice, "the name of a device", c.Device); err != nil {
			return err
		}
	}
	if c.Addr.IsValid() {
		if err := encodeAddr(ae, attrReceiverAddr, attrReceiverPort, c.Addr); err != nil {
			return err
		}
	}
	optional(ae, attrReceiverDepth, c.Depth)
	optional(ae, attrReceiverDepthMax, c.DepthMax)
	optional(ae, attrReceiverBatch, c.Batch)
	optional(ae, attrReceiverBatchTimeoutUS, c.BatchTimeout)
	optional(ae, attrReceiverLowWater, c.LowWater)
	optional(ae, attrReceiverSlotSize, c.SlotSize)
	optional(ae, attrReceiverMaxConns, c.MaxConns)
	optional(ae, attrReceiverPollers, c.Pollers)
	optional(ae, attrReceiverPollMode, c.PollMode)
	optional(ae, attrReceiverBudget, c.Budget)
	optional(ae, attrReceiverSpinUS, c.Spin)
	optional(ae, attrReceiverSink, c.Sink)
	optional(ae, attrReceiverRNRTimerUS, c.RNRTimer)
	optional(ae, attrReceiverRNRRetry, c.RNRRetry)
	optional(ae, attrReceiverDrainTimeoutMS, c.DrainTimeout)
	for _, bytes := range c.Segments {
		ae.Uint32(attrReceiverSegment, bytes)
	}
	optional(ae, attrReceiverHoldUS, c.Hold)
	optional(ae, attrReceiverIdleTimeoutMS, c.IdleTimeout)
	return errors.Join(encodeCPUs(ae, c.CPUs), encodeAllow(ae, c.Allow))
}

// anyCPU is what a request for no CPU in particular has for its only one.
const anyCPU = math.MaxUint32

// encodeCPUs writes where pollers run, unless that is to be left as it is.
func encodeCPUs(ae *netlink.AttributeEncoder, cpus *[]uint32) error {
	switch {
	case cpus == nil:
		return nil
	case len(*cpus) == 0:
		ae.Uint32(attrReceiverCpu, anyCPU)
	}
	for _, cpu := range *cpus {
		if cpu == anyCPU {
			return fmt.Errorf("no CPU has number %d", cpu)
		}
		ae.Uint32(attrReceiverCpu, cpu)
	}
	return nil
}

// encodeAllow writes who is let in, unless that is to be left as it is. A
// prefix without an address stands for everybody.
func encodeAllow(ae *netlink.AttributeEncoder, allow *[]netip.Prefix) error {
	switch {
	case allow == nil:
		return nil
	case len(*allow) == 0:
		ae.Nested(attrReceiverAllow, func(*netlink.AttributeEncoder) error { return nil })
	}
	for _, prefix := range *allow {
		if !prefix.IsValid() {
			return errors.New("a prefix of peers wants an address and a length that its address has")
		}
		ae.Nested(attrReceiverAllow, encodePrefix(prefix))
	}
	return nil
}

// decodeReceiver reads one answer about a receiver.
func decodeReceiver(b []byte) (Receiver, error) {
	// Empty and not nil, so that JSON says [] for what there is none of.
	r := Receiver{Segments: []uint32{}, CPUs: []uint32{}, Allow: []netip.Prefix{}, PollerPIDs: []uint32{}}
	err := decode(b, func(ad *netlink.AttributeDecoder) {
		if !r.decodeConfig(ad) {
			r.decodeState(ad)
		}
	})
	if err != nil {
		return Receiver{}, fmt.Errorf("decode receiver: %w", err)
	}
	return r, nil
}

// decodeConfig takes the current attribute if it is part of the configuration.
func (r *Receiver) decodeConfig(ad *netlink.AttributeDecoder) bool {
	switch ad.Type() {
	case attrReceiverName:
		r.Name = ad.String()
	case attrReceiverDevice:
		r.Device = ad.String()
	case attrReceiverAddr:
		r.Addr = decodeAddr(ad)
	case attrReceiverPort:
		r.Port = decodePort(ad)
	case attrReceiverDepth:
		r.Depth = ad.Uint32()
	case attrReceiverDepthMax:
		r.DepthMax = ad.Uint32()
	case attrReceiverBatch:
		r.Batch = ad.Uint32()
	case attrReceiverBatchTimeoutUS:
		r.BatchTimeout = Microseconds(ad.Uint32())
	case attrReceiverLowWater:
		r.LowWater = ad.Uint32()
	case attrReceiverSlotSize:
		r.SlotSize = ad.Uint32()
	case attrReceiverMaxConns:
		r.MaxConns = ad.Uint32()
	case attrReceiverPollers:
		r.Pollers = ad.Uint32()
	case attrReceiverPollMode:
		r.PollMode = PollMode(ad.Uint32())
	case attrReceiverBudget:
		r.Budget = ad.Uint32()
	case attrReceiverSpinUS:
		r.Spin = Microseconds(ad.Uint32())
	case attrReceiverSink:
		r.Sink = Sink(ad.Uint32())
	case attrReceiverRNRTimerUS:
		r.RNRTimer = Microseconds(ad.Uint32())
	case attrReceiverRNRRetry:
		r.RNRRetry = new(ad.Uint32())
	case attrReceiverDrainTimeoutMS:
		r.DrainTimeout = Milliseconds(ad.Uint32())
	case attrReceiverSegment:
		r.Segments = append(r.Segments, ad.Uint32())
	case attrReceiverHoldUS:
		r.Hold = Microseconds(ad.Uint32())
	case attrReceiverIdleTimeoutMS:
		r.IdleTimeout = Milliseconds(ad.Uint32())
	case attrReceiverCpu:
		r.CPUs = append(r.CPUs, ad.Uint32())
	case attrReceiverAllow:
		r.Allow = append(r.Allow, decodePrefix(ad))
	default:
		return false
	}
	return true
}

// decodeState takes the current attribute if it says how things are.
func (r *Receiver) decodeState(ad *netlink.AttributeDecoder) {
	switch ad.Type() {
	case attrReceiverID:
		r.ID = ad.Uint32()
	case attrReceiverState:
		r.State = ReceiverState(ad.Uint32())
	case attrReceiverRNREffectiveUS:
		r.RNREffective = Microseconds(ad.Uint32())
	case attrReceiverConns:
		r.Conns = ad.Uint32()
	case attrReceiverMemory:
		r.Memory = ad.Uint64()
	case attrReceiverMemoryMax:
		r.MemoryMax = ad.Uint64()
	case attrReceiverMappings:
		r.Mappings = ad.Uint64()
	case attrReceiverCQE:
		r.CQE = ad.Uint32()
	case attrReceiverLedger:
		ad.Nested(decodeLedger(&r.Ledger))
	case attrReceiverCounters:
		ad.Nested(decodeCounters(&r.Counters))
	case attrReceiverPollerPID:
		r.PollerPIDs = append(r.PollerPIDs, ad.Uint32())
	case attrReceiverWorkerPID:
		r.WorkerPID = ad.Uint32()
	case attrReceiverSends:
		r.Sends = new(Ledger)
		ad.Nested(decodeLedger(r.Sends))
	}
}
