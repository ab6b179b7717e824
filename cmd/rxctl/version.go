// This file owns `rxctl version`.

package main

import (
	"fmt"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

// versions is what rxctl and the module say of themselves.
type versions struct {
	RXCtl  string    `json:"rxctl"`
	ABI    uint32    `json:"abi"`
	Module *ctl.Info `json:"module,omitempty"`
}

func versionCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the versions of rxctl and of the kernel module",
		Long:  "Show the versions of rxctl and of the kernel module. Without a module the\nversion of rxctl is printed and the exit status is 4.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withClient(func(c client) error {
				v := versions{RXCtl: env.version, ABI: ctl.ABIVersion}
				info, missing := c.Info(cmd.Context())
				if missing == nil {
					v.Module = &info
				}
				if err := env.printVersions(cmd, v); err != nil {
					return err
				}
				return missing
			})
		},
	}
}

// printVersions prints v.
func (env *environment) printVersions(cmd *cobra.Command, v versions) error {
	if env.wantJSON() {
		return printJSON(env, cmd.OutOrStdout(), v)
	}
	rows := [][]string{{"rxctl", v.RXCtl, fmt.Sprintf("abi %d", v.ABI)}}
	if m := v.Module; m != nil {
		rows = append(rows, []string{"module", m.Version, fmt.Sprintf("abi %d", m.ABI),
			plural(m.Receivers, "receiver"),
			fmt.Sprintf("slot memory %s in use, %s reserved, %s at most", size(m.Memory), size(m.MemoryReserved), size(m.MemoryLimit))})
	}
	return printTable(cmd.OutOrStdout(), rows)
}
