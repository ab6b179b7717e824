// This file owns `rxctl send`: its flags, and the order of its steps.

package main

import (
	"strconv"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxQPs is how many runs the kernel lets be under way.
const maxQPs = 1024

// sending is what a command line of `rxctl send` asks for.
type sending struct {
	cfg  ctl.RunConfig
	qps  uint32
	show string // --progress
}

func sendCommand(env *environment) *cobra.Command {
	s := sending{qps: 1, show: "auto"}
	cmd := &cobra.Command{
		Use:   "send ADDRESS:PORT",
		Short: "Send messages to a receiver with the traffic source",
		Long: `Send messages to a receiver with the traffic source, and print what was done.

With --qps several QPs, each a connection of its own, begin together once all
are connected. --count, --rate, --duration, --batch and --in-flight are of each
of them; what is printed is the sum.

With --round-trip the receiver must answer each message (--sink echo). What is
measured is the time from before a message's post until its answer was polled.

--op write, write-imm and read reach for memory that a receiver of rxpost does
not give away: they show how it survives them.

Ctrl-C stops in order: what is outstanding is waited for and counted. A second
Ctrl-C leaves at once; the kernel then stops what is left.`,
		Example: `  rxctl send 10.9.0.1:7471 --size 64 --count 200k --batch 16
  rxctl send 10.9.0.1:7471 --qps 8 --duration 10s --rate 50k
  rxctl send 10.9.0.1:7471 --round-trip --in-flight 1 --count 100k
  rxctl send 10.9.0.1:7471 --op write-imm --size 0 --count 10`,
		Args:              oneArg("address"),
		ValidArgsFunction: onlyArg(env.completeListening),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if s.cfg.Addr, err = parseAddr(args[0]); err != nil {
				return usageError{err}
			}
			if s.qps < 1 || s.qps > maxQPs {
				return usagef("--qps %d: want 1 to %d", s.qps, maxQPs)
			}
			visible, err := env.progressWanted(s.show)
			if err != nil {
				return err
			}
			return env.withClient(func(c client) error {
				results, err := env.send(cmd.Context(), c, s, visible)
				if err != nil {
					return err
				}
				return env.printRuns(cmd.OutOrStdout(), results)
			})
		},
	}
	s.addFlags(cmd.Flags())
	register(cmd, "op", completeWords(ctl.Opcodes()...))
	register(cmd, "progress", completeWords("auto", "always", "never"))
	return cmd
}

func (s *sending) addFlags(fs *pflag.FlagSet) {
	cfg := &s.cfg
	fs.SortFlags = false
	optionVar(fs, &cfg.Size, "size", "bytes", "bytes in a message, up to 1M (default 64)", parseSize)
	optionVar(fs, &cfg.Count, "count", "messages",
		"messages to send on each QP; 0 is no limit (default 0)", parseCount64)
	optionVar(fs, &cfg.Duration, "duration", "time",
		"time after which no more is sent; 0 is no limit (default 0)", parseMilliseconds)
	optionVar(fs, &cfg.Batch, "batch", "sends", "sends posted in one call, 1 to 64 (default 16)", parseCount)
	optionVar(fs, &cfg.InFlight, "in-flight", "sends",
		"most sends posted and not yet acknowledged, or with --round-trip not yet answered, up to 4096, "+
			"on each QP (default 128)", parseCount)
	optionVar(fs, &cfg.Rate, "rate", "messages/s",
		"most messages per second on each QP; 0 is no limit (default 0)", parseCount64)
	fs.Var(&number32{&s.qps}, "qps", "QPs to send on, each with a connection of its own, 1 to 1024")
	fs.BoolVar(&cfg.RoundTrip, "round-trip", false,
		"have each message answered and measure the time until then; wants a size of 32 at least")
	optionVar(fs, &cfg.AnswerTimeout, "answer-timeout", "time",
		"longest wait for any answer, with --round-trip (default 5s)", parseMilliseconds)
	optionVar(fs, &cfg.Opcode, "op", "opcode",
		"send, send-imm, send-inv, write, write-imm or read (default send)", ctl.ParseOpcode)
	optionVar(fs, &cfg.RemoteAddr, "remote-addr", "address",
		"peer's address for write, write-imm and read; 0x begins a hexadecimal one (default 0)", parseKey[uint64])
	optionVar(fs, &cfg.RKey, "rkey", "key",
		"peer's key for write, write-imm, read and send-inv; 0x begins a hexadecimal one (default 0)", parseKey[uint32])
	optionVar(fs, &cfg.ConnectTimeout, "connect-timeout", "time",
		"longest wait for the connection (default 5s)", parseMilliseconds)
	optionVar(fs, &cfg.DrainTimeout, "drain-timeout", "time",
		"longest wait for outstanding sends at the end (default 5s)", parseMilliseconds)
	fs.StringVar(&s.show, "progress", s.show, "show progress: always, never, or auto: on a terminal")
}

// number32 is a flag for a count that is not the kernel's, and so has a default.
type number32 struct{ to *uint32 }

// String is what help shows as the default.
func (n *number32) String() string {
	if n.to == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*n.to), 10)
}

// Type is what help calls the value.
func (n *number32) Type() string { return "number" }

// Set reads the value.
func (n *number32) Set(text string) error {
	v, err := parseCount(text)
	if err == nil {
		*n.to = v
	}
	return err
}

// progressWanted reads --progress.
func (env *environment) progressWanted(text string) (bool, error) {
	switch text {
	case "auto":
		return env.terminal, nil
	case "always":
		return true, nil
	case "never":
		return false, nil
	}
	return false, usagef("--progress %q: want auto, always or never", text)
}
