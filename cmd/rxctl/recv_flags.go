// This file owns the flags that describe a receiver, shared by add and set.

package main

import (
	"net/netip"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/pflag"
)

// receiverFlags adds one flag for each attribute of a receiver.
func receiverFlags(fs *pflag.FlagSet, cfg *ctl.ReceiverConfig) {
	fs.SortFlags = false
	fs.Var(&addrFlag{&cfg.Addr}, "addr", "address and port to listen on; fixed")
	fs.StringVar(&cfg.Device, "device", "", "RDMA device; must own the address; fixed")
	optionVar(fs, &cfg.Depth, "depth", "receives", "receives to keep posted per connection", parseCount)
	optionVar(fs, &cfg.DepthMax, "depth-max", "slots", "slots per connection, up to which depth can be raised; fixed", parseCount)
	optionVar(fs, &cfg.Batch, "batch", "receives", "receives handed to the device in one call", parseCount)
	optionVar(fs, &cfg.BatchTimeout, "batch-timeout", "time", "longest wait of a completed slot for its batch", parseMicroseconds)
	optionVar(fs, &cfg.LowWater, "low-water", "receives", "with so few receives posted, post without waiting for a batch", parseCount)
	optionVar(fs, &cfg.SlotSize, "slot", "bytes", "bytes in one slot, the largest message that fits; fixed", parseSize)
	optionVar(fs, &cfg.MaxConns, "max-conns", "count", "connections admitted at once; fixed", parseCount)
	optionVar(fs, &cfg.Pollers, "pollers", "count", "poller threads, each with its own CQ; fixed", parseCount)
	optionVar(fs, &cfg.PollMode, "poll", "mode", "how a poller waits: hybrid, busy or event", ctl.ParsePollMode)
	optionVar(fs, &cfg.Budget, "budget", "count", "completions taken in one poll, 1 to 16", parseCount)
	optionVar(fs, &cfg.Spin, "spin", "time", "how long hybrid polling spins on an empty CQ", parseMicroseconds)
	optionVar(fs, &cfg.Sink, "sink", "sink", "what is done with a message: discard, verify or echo; fixed", ctl.ParseSink)
	optionVar(fs, &cfg.RNRTimer, "rnr-timer", "time", "wait that an empty queue asks of a sender; fixed", parseMicroseconds)
	optionVar(fs, &cfg.RNRRetry, "rnr-retry", "count", "times a sender may be told to wait, 7 is without end; fixed", parseCount)
	optionVar(fs, &cfg.DrainTimeout, "drain-timeout", "time", "longest wait for outstanding receives at teardown", parseMilliseconds)
}

// addrFlag is an address that stays invalid unless given.
type addrFlag struct{ to *netip.AddrPort }

// String is what help shows as the default: nothing.
func (f *addrFlag) String() string { return "" }

// Type is what help calls the value.
func (f *addrFlag) Type() string { return "address:port" }

// Set reads the value.
func (f *addrFlag) Set(text string) (err error) {
	*f.to, err = parseAddr(text)
	return err
}
