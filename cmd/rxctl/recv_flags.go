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
	optionVar(fs, &cfg.Depth, "depth", "receives", "receives to keep posted per connection, 1 to 65536 (default 256)", parseCount)
	optionVar(fs, &cfg.DepthMax, "depth-max", "slots", "slots per connection, up to which depth can be raised (default: depth); fixed", parseCount)
	optionVar(fs, &cfg.Batch, "batch", "receives", "receives handed to the device in one call, 1 to 256 and at most depth (default 16)", parseCount)
	optionVar(fs, &cfg.BatchTimeout, "batch-timeout", "time", "longest wait of a completed slot for its batch; 0 is none (default 100us)", parseMicroseconds)
	optionVar(fs, &cfg.LowWater, "low-water", "receives", "with so few receives posted, post without waiting for a batch (default: a quarter of depth)", parseCount)
	optionVar(fs, &cfg.SlotSize, "slot", "bytes", "bytes in one slot, the largest message that fits, 1 to 1M (default 4k); fixed", parseSize)
	optionVar(fs, &cfg.MaxConns, "max-conns", "count", "connections admitted at once, 1 to 1024 (default: 128, or as many as fit the CQ and the memory bound); fixed", parseCount)
	optionVar(fs, &cfg.Pollers, "pollers", "count", "poller threads, each with its own CQ, 1 to 16 (default 1); fixed", parseCount)
	optionVar(fs, &cfg.PollMode, "poll", "mode", "how a poller waits: hybrid, busy or event (default hybrid)", ctl.ParsePollMode)
	optionVar(fs, &cfg.Budget, "budget", "count", "completions taken in one poll, 1 to 16 (default 16)", parseCount)
	optionVar(fs, &cfg.Spin, "spin", "time", "how long hybrid polling spins on an empty CQ (default 50us)", parseMicroseconds)
	optionVar(fs, &cfg.Sink, "sink", "sink", "what is done with a message: discard or verify (default discard); fixed", ctl.ParseSink)
	optionVar(fs, &cfg.RNRTimer, "rnr-timer", "time", "wait that an empty queue asks of a sender, 1us to 655.36ms, rounded up to a value of the InfiniBand table (default 640us); fixed", parseMicroseconds)
	optionVar(fs, &cfg.RNRRetry, "rnr-retry", "count", "times a sender may be told to wait, 0 to 7; 7 is no limit (default 7); fixed", parseCount)
	optionVar(fs, &cfg.DrainTimeout, "drain-timeout", "time", "longest wait for outstanding receives at teardown (default 5s)", parseMilliseconds)
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
