// This file owns the messages of receivers, both ways.

package ctl

import (
	"fmt"

	"github.com/mdlayher/netlink"
)

// encode writes what is set of c.
func (c ReceiverConfig) encode(ae *netlink.AttributeEncoder) error {
	if c.Name == "" {
		return fmt.Errorf("a receiver wants a name")
	}
	ae.String(attrReceiverName, c.Name)
	if c.Device != "" {
		ae.String(attrReceiverDevice, c.Device)
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
	return nil
}

// decodeReceiver reads one answer about a receiver.
func decodeReceiver(b []byte) (Receiver, error) {
	var r Receiver
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
		r.RNRRetry = ad.Uint32()
	case attrReceiverDrainTimeoutMS:
		r.DrainTimeout = Milliseconds(ad.Uint32())
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
	}
}
