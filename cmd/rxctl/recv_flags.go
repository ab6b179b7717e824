// This file owns the flags that describe a receiver, shared by add and set.

package main

import (
	"net/netip"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// receiverFlags adds one flag for each attribute of a receiver.
func receiverFlags(cmd *cobra.Command, env *environment, cfg *ctl.ReceiverConfig) {
	fs := cmd.Flags()
	fs.SortFlags = false
	placeFlags(fs, cfg)
	queueFlags(fs, cfg)
	pollFlags(fs, cfg)
	connFlags(fs, cfg)
	for name, complete := range map[string]source{
		"addr":   env.completeListenAddr,
		"device": env.completeDevice,
		"poll":   completeWords(ctl.PollModes()...),
		"sink":   completeWords(ctl.Sinks()...),
		"cpu":    env.completeCPUs,
		"allow":  env.completeAllow,
	} {
		register(cmd, name, complete)
	}
}

// fixedFlags lists the flags of what recv add alone decides.
func fixedFlags() []string {
	return []string{"addr", "device", "depth-max", "slot", "max-conns", "pollers", "sink", "rnr-retry"}
}

// placeFlags adds where a receiver listens.
func placeFlags(fs *pflag.FlagSet, cfg *ctl.ReceiverConfig) {
	fs.Var(&addrFlag{&cfg.Addr}, "addr", "address and port to listen on; fixed")
	fs.Var(&textFlag{&cfg.Device, "name"}, "device", "RDMA device; must own the address; fixed")
}

// queueFlags adds the receives of a connection and what a slot is.
func queueFlags(fs *pflag.FlagSet, cfg *ctl.ReceiverConfig) {
	optionVar(fs, &cfg.Depth, "depth", "receives",
		"receives to keep posted per connection, 1 to 65536 (default 256)", parseCount)
	optionVar(fs, &cfg.DepthMax, "depth-max", "slots",
		"slots per connection, up to which depth can be raised, to 65536 (default: depth); fixed", parseCount)
	optionVar(fs, &cfg.Batch, "batch", "receives",
		"receives handed to the device in one call, 1 to 256 and at most depth (default 16)", parseCount)
	optionVar(fs, &cfg.BatchTimeout, "batch-timeout", "time",
		"longest wait of a completed slot for its batch, 0 to 1s; 0 is none (default 100us)", parseMicroseconds)
	optionVar(fs, &cfg.LowWater, "low-water", "receives",
		"with so few receives posted, 0 to below depth, post without waiting for a batch (default: a quarter of depth)", parseCount)
	fs.Var(&slotFlag{&cfg.SlotSize, &cfg.Segments}, "slot",
		"bytes in one slot, the largest message that fits, 1 to 1M; "+
			"in segments, one SGE each, like 64+4032 (default 4k); fixed")
	optionVar(fs, &cfg.Hold, "hold", "time",
		"how long a message is kept before its slot is posted again, as a slow consumer would, 0 to 10m; "+
			"0 is not at all (default 0)", parseMicroseconds)
	optionVar(fs, &cfg.Sink, "sink", "sink",
		"what is done with a message: discard, verify, or echo, which answers it (default discard); fixed", ctl.ParseSink)
}

// pollFlags adds how completions are taken.
func pollFlags(fs *pflag.FlagSet, cfg *ctl.ReceiverConfig) {
	optionVar(fs, &cfg.Pollers, "pollers", "count",
		"poller threads, each with its own CQ, 1 to 16 (default: as few as max-conns needs); fixed", parseCount)
	fs.Var(&listFlag[uint32]{&cfg.CPUs, "cpus", parseCPU}, "cpu",
		"CPUs of the pollers, like 0,1, taken in turn; any lets them run anywhere (default any)")
	optionVar(fs, &cfg.PollMode, "poll", "mode",
		"how a poller waits: hybrid, busy or event (default hybrid)", ctl.ParsePollMode)
	optionVar(fs, &cfg.Budget, "budget", "count",
		"completions taken in one poll, 1 to 16 (default 16)", parseCount)
	optionVar(fs, &cfg.Spin, "spin", "time",
		"how long hybrid polling spins on an empty CQ, 0 to 10ms (default 50us)", parseMicroseconds)
}

// connFlags adds who may connect, what a sender is told, and how it ends.
func connFlags(fs *pflag.FlagSet, cfg *ctl.ReceiverConfig) {
	optionVar(fs, &cfg.MaxConns, "max-conns", "count",
		"connections admitted at once, 1 to 1024 (default: 128, or fewer where memory or the CQs allow fewer); fixed", parseCount)
	fs.Var(&listFlag[netip.Prefix]{&cfg.Allow, "prefixes", parsePrefix}, "allow",
		"who may connect, like 10.9.0.0/24; with commas or again for more; any is everybody (default any)")
	optionVar(fs, &cfg.IdleTimeout, "idle-timeout", "time",
		"end a connection that received nothing for so long, 0 to 24h; 0 is never (default 0)", parseMilliseconds)
	optionVar(fs, &cfg.RNRTimer, "rnr-timer", "time",
		"wait that an empty queue asks of a sender, 1us to 655.36ms, rounded up to a value of the InfiniBand table; "+
			"iWARP has none (default 640us)", parseMicroseconds)
	optionVar(fs, &cfg.RNRRetry, "rnr-retry", "count",
		"times a sender may be told to wait, 0 to 7; 7 is no limit (default 7); fixed", parseCount)
	optionVar(fs, &cfg.DrainTimeout, "drain-timeout", "time",
		"longest wait for outstanding receives at teardown, 1ms to 10m (default 5s)", parseMilliseconds)
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
