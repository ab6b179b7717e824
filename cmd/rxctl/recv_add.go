// This file owns `rxctl recv add`.

package main

import (
	"fmt"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

func recvAddCommand(env *environment) *cobra.Command {
	var cfg ctl.ReceiverConfig
	cmd := &cobra.Command{
		Use:   "add NAME --addr ADDRESS:PORT",
		Short: "Make a receiver and listen",
		Long: `Make a receiver and listen. What is not given is left to the kernel module; the
answer shows what was granted and what it can cost. Nothing of it is spent yet:
the slots of a connection are allocated when it comes.

What is not marked as fixed can be changed later, by rxctl recv set.`,
		Example:           "  rxctl recv add r0 --addr 10.9.0.1:7471 --depth 256 --batch 16 --sink verify",
		Args:              oneArg("name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cfg.Addr.IsValid() {
				return usagef("recv add wants --addr, an address and a port to listen on")
			}
			cfg.Name = args[0]
			return env.withClient(func(c client) error {
				r, err := c.Add(cmd.Context(), cfg)
				if err != nil {
					return err
				}
				if env.wantJSON() {
					return printJSON(env, cmd.OutOrStdout(), r)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), granted(r))
				return err
			})
		},
	}
	receiverFlags(cmd, env, &cfg)
	return cmd
}

// granted says in one line what was made and what it can cost.
func granted(r ctl.Receiver) string {
	return fmt.Sprintf("%s: %s on %s, %s; depth %d of %d, batch %d, slot %s, %s with %d CQ entries; %s",
		r.Name, r.State, orNone(r.Device), r.AddrPort(), r.Depth, r.DepthMax, r.Batch, slotText(r),
		plural(r.Pollers, "poller"), r.CQE, memoryBill(r))
}

// memoryBill says what the slots of all connections can cost: the product of
// what was asked for, and what the module reserved for it.
func memoryBill(r ctl.Receiver) string {
	product := uint64(r.MaxConns) * uint64(r.DepthMax) * uint64(r.SlotSize)
	return fmt.Sprintf("up to %s x %s x %s = %s of slot memory, %s with page rounding and work requests",
		plural(r.MaxConns, "connection"), plural(r.DepthMax, "slot"), size(uint64(r.SlotSize)),
		size(product), size(r.MemoryMax))
}
