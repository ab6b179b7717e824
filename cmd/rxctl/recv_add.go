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
		Use:     "add NAME --addr ADDRESS:PORT",
		Short:   "Make a receiver and listen",
		Long:    "Make a receiver and listen. What is not given is left to the kernel module;\nthe answer shows what was granted and what it can cost.",
		Example: "  rxctl recv add r0 --addr 10.9.0.1:7471 --depth 256 --batch 16 --sink verify",
		Args:    oneArg("name"),
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
	receiverFlags(cmd.Flags(), &cfg)
	return cmd
}

// granted says in one line what was made and what it can cost.
func granted(r ctl.Receiver) string {
	return fmt.Sprintf("%s: %s on %s, %s; depth %d of %d, batch %d, slot %s, %s with %d CQ entries; "+
		"up to %s of slot memory for %s",
		r.Name, r.State, r.Device, r.AddrPort(), r.Depth, r.DepthMax, r.Batch, size(uint64(r.SlotSize)),
		plural(r.Pollers, "poller"), r.CQE, size(r.MemoryMax), plural(r.MaxConns, "connection"))
}
