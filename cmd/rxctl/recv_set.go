// This file owns `rxctl recv set`.

package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func recvSetCommand(env *environment) *cobra.Command {
	var cfg ctl.ReceiverConfig
	cmd := &cobra.Command{
		Use:   "set NAME FLAG...",
		Short: "Change a receiver while it works",
		Long: `Change a receiver while it works. Only what is given changes: all of it or, if
something is refused, nothing.

Fixed when the receiver is added, and refused here by the kernel module:
--` + strings.Join(fixedFlags(), ", --") + `.`,
		Example:               "  rxctl recv set r0 --depth 512 --batch 32",
		Args:                  oneArg("name"),
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     onlyArg(env.completeReceiver),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reflect.ValueOf(cfg).IsZero() {
				return usagef("recv set wants at least one flag that says what to change")
			}
			cfg.Name = args[0]
			return env.withClient(func(c client) error { return c.Set(cmd.Context(), cfg) })
		},
	}
	receiverFlags(cmd, env, &cfg)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		// What is fixed is read, so that the module can say so, and not offered.
		f.Hidden = slices.Contains(fixedFlags(), f.Name)
		// What is not given stays as it is: defaults are for recv add.
		f.Usage, _, _ = strings.Cut(f.Usage, " (default")
	})
	return cmd
}
