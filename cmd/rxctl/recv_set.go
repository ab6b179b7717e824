// This file owns `rxctl recv set`.

package main

import (
	"reflect"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

func recvSetCommand(env *environment) *cobra.Command {
	var cfg ctl.ReceiverConfig
	cmd := &cobra.Command{
		Use:     "set NAME FLAG...",
		Short:   "Change a receiver while it works",
		Long:    "Change a receiver while it works. Only what is given changes; what is fixed\nis refused by the kernel module, by name.",
		Example: "  rxctl recv set r0 --depth 512 --batch 32",
		Args:    oneArg("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reflect.ValueOf(cfg).IsZero() {
				return usagef("recv set wants at least one flag that says what to change")
			}
			cfg.Name = args[0]
			return env.withClient(func(c client) error { return c.Set(cmd.Context(), cfg) })
		},
	}
	receiverFlags(cmd.Flags(), &cfg)
	return cmd
}
