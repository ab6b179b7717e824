// This file owns `rxctl recv show`.

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

func recvShowCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show receivers with their ledgers",
		Args:  maybeArg("name"),
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

// receiverBlock describes one receiver.
func receiverBlock(r ctl.Receiver) string {
	var b strings.Builder
	line := func(key, format string, args ...any) {
		fmt.Fprintf(&b, "  %s: %s\n", key, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "receiver: %s\n", r.Name)
	line("state", "%s on %s, %s", r.State, orNone(r.Device), r.AddrPort())
	line("connections", "%d of %d", r.Conns, r.MaxConns)
	line("queue", "depth %d of %d slots of %s, low water %d", r.Depth, r.DepthMax, size(uint64(r.SlotSize)), r.LowWater)
	line("batch", "%d, held at most %v", r.Batch, r.BatchTimeout)
	line("polling", "%s, budget %d, spin %v, CQ of %d", r.PollMode, r.Budget, r.Spin, r.CQE)
	line("pollers", "%d (%s)", r.Pollers, threads(r.PollerPIDs))
	line("sink", "%s", r.Sink)
	line("rnr", "timer %v, in effect %v, retried %s", r.RNRTimer, r.RNREffective, times(r.RNRRetry))
	line("drain timeout", "%v", r.DrainTimeout)
	line("ledger", "%s", ledgerSum(r.Ledger))
	line("slots", "%s", slotSum(r.Ledger))
	line("received", "%s, %s", plural(r.Counters.Messages, "message"), size(r.Counters.Bytes))
	line("memory", "%s now, %s at most, %s", size(r.Memory), size(r.MemoryMax), plural(r.Mappings, "live mapping"))
	return b.String()
}

// threads prints the thread ids of pollers, which run only with a device.
func threads(pids []uint32) string {
	if len(pids) == 0 {
		return "not running"
	}
	return "thread " + strings.Trim(fmt.Sprint(pids), "[]")
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
		return "no device"
	}
	return name
}
