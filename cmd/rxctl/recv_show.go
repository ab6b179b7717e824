// This file owns `rxctl recv show`.

package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

func recvShowCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:               "show [NAME]",
		Short:             "Show receivers with their ledgers",
		Args:              maybeArg("name"),
		ValidArgsFunction: onlyArg(env.completeReceiver),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withClient(func(c client) error {
				receivers, err := receiversOf(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				if env.wantJSON() {
					return printJSON(env, cmd.OutOrStdout(), receivers...)
				}
				return printReceivers(cmd.OutOrStdout(), receivers)
			})
		},
	}
}

// receiversOf asks for the receiver that args name, or for all.
func receiversOf(ctx context.Context, c client, args []string) ([]ctl.Receiver, error) {
	if len(args) == 0 {
		return c.Receivers(ctx)
	}
	r, err := c.Receiver(ctx, args[0])
	return []ctl.Receiver{r}, err
}

// printReceivers prints one block a receiver.
func printReceivers(w io.Writer, receivers []ctl.Receiver) error {
	blocks := make([]string, 0, len(receivers))
	for _, r := range receivers {
		blocks = append(blocks, receiverBlock(r))
	}
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// block is a description: a heading and lines of a key and what it stands at.
type block struct{ strings.Builder }

// line adds one line.
func (b *block) line(key, format string, args ...any) {
	fmt.Fprintf(b, "  %s: %s\n", key, fmt.Sprintf(format, args...))
}

// receiverBlock describes one receiver.
func receiverBlock(r ctl.Receiver) string {
	var b block
	fmt.Fprintf(&b, "receiver: %s\n", r.Name)
	b.line("state", "%s", stateText(r))
	b.line("connections", "%d of %d", r.Conns, r.MaxConns)
	b.line("allowed", "%s", allowText(r.Allow))
	b.line("queue", "depth %d of %d slots of %s, low water %d", r.Depth, r.DepthMax, slotText(r), r.LowWater)
	b.line("batch", "%d, held at most %v", r.Batch, r.BatchTimeout)
	b.line("polling", "%s, budget %d, spin %v, CQ of %d", r.PollMode, r.Budget, r.Spin, r.CQE)
	b.line("pollers", "%d (%s)", r.Pollers, threads(r.PollerPIDs, r.CPUs))
	b.line("sink", "%s", sinkText(r))
	b.line("rnr", "%s", rnrWait(r))
	b.line("timeouts", "idle %s, drain %v", orNever(r.IdleTimeout), r.DrainTimeout)
	b.line("ledger", "%s", ledgerSum(r.Ledger))
	b.line("slots", "%s", slotSum(r.Ledger))
	if r.Sends != nil {
		b.line("answers", "%s", ledgerSum(*r.Sends))
	}
	b.line("received", "%s, %s", plural(r.Counters.Messages, "message"), size(r.Counters.Bytes))
	b.line("memory", "%s now, %s at most, %s", size(r.Memory), size(r.MemoryMax), plural(r.Mappings, "live mapping"))
	return b.String()
}

// rnrWait prints what a sender is told when it finds no receive.
func rnrWait(r ctl.Receiver) string {
	if r.RNRRetry == nil {
		return "none: on iWARP a message that finds no receive ends its connection"
	}
	effect := ""
	if r.RNREffective != 0 { // it was on a device that has RNRs
		effect = fmt.Sprintf(", in effect %v", r.RNREffective)
	}
	return fmt.Sprintf("timer %v%s, retried %s", r.RNRTimer, effect, times(*r.RNRRetry))
}

// stateText says what a receiver does, and where.
func stateText(r ctl.Receiver) string {
	if r.State == ctl.ReceiverStateNoDevice {
		return fmt.Sprintf("%s, %s was removed; waiting for %s on an RDMA device", r.State, orNone(r.Device), r.AddrPort())
	}
	return fmt.Sprintf("%s on %s, %s", r.State, orNone(r.Device), r.AddrPort())
}

// slotText prints the size of a slot, and its segments if it has several.
func slotText(r ctl.Receiver) string {
	text := size(uint64(r.SlotSize))
	if len(r.Segments) < 2 {
		return text
	}
	parts := make([]string, 0, len(r.Segments))
	for _, n := range r.Segments {
		parts = append(parts, number(n))
	}
	return fmt.Sprintf("%s (%s)", text, strings.Join(parts, "+"))
}

// sinkText prints what is done with a message, and how long that takes.
func sinkText(r ctl.Receiver) string {
	if r.Hold == 0 {
		return r.Sink.String()
	}
	return fmt.Sprintf("%s, keeps a message for %v", r.Sink, r.Hold)
}

// allowText prints who may connect.
func allowText(allow []netip.Prefix) string {
	if len(allow) == 0 {
		return "everybody"
	}
	texts := make([]string, 0, len(allow))
	for _, p := range allow {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ", ")
}

// threads prints the thread ids of pollers, which run only with a device, and
// where they run.
func threads(pids, cpus []uint32) string {
	where := "on any CPU"
	if len(cpus) > 0 {
		where = "on CPU " + strings.Trim(fmt.Sprint(cpus), "[]")
	}
	if len(pids) == 0 {
		return "not running, " + where
	}
	return "thread " + strings.Trim(fmt.Sprint(pids), "[]") + ", " + where
}

// ledgerSum prints the ledger as the sum it is.
func ledgerSum(l ctl.Ledger) string {
	return fmt.Sprintf("posted %d = completed %d + flushed %d + failed %d + reclaimed %d + outstanding %d",
		l.Posted, l.Completed, l.Flushed, l.Failed, l.Reclaimed, l.Outstanding)
}

// slotSum prints where the slots are.
func slotSum(l ctl.Ledger) string {
	return fmt.Sprintf("%d = outstanding %d + held %d + free %d", l.Slots, l.Outstanding, l.Held, l.Free)
}

// orNone prints a name that may be missing.
func orNone(name string) string {
	if name == "" {
		return "a device"
	}
	return name
}

// orNever prints a time-out that may be off.
func orNever(ms ctl.Milliseconds) string {
	if ms == 0 {
		return "never"
	}
	return ms.String()
}
