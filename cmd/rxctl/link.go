// This file owns `rxctl link`: soft RDMA devices, so that no other tool is
// needed to have one.

package main

import (
	"github.com/rxpost/rxpost/internal/rdma"
	"github.com/spf13/cobra"
)

func linkAddCommand(env *environment) *cobra.Command {
	var kind, netdev string
	cmd := &cobra.Command{
		Use:     "add NAME --type rxe|siw --netdev NETDEV",
		Short:   "Make a soft RDMA device on a network device",
		Example: "  rxctl link add rxe0 --type rxe --netdev eth0",
		Args:    oneArg("name"),

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case kind == "":
				return usagef("link add wants --type, rxe or siw")
			case netdev == "":
				return usagef("link add wants --netdev, the network device below")
			}
			return env.devices.Add(args[0], kind, netdev)
		},
	}
	cmd.Flags().Var(&textFlag{&kind, "driver"}, "type", "driver: rxe (RoCE) or siw (iWARP)")
	cmd.Flags().Var(&textFlag{&netdev, "name"}, "netdev", "network device")
	register(cmd, "type", completeWords("rxe", "siw"))
	register(cmd, "netdev", env.completeNetdev)
	return cmd
}

func linkDelCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "del NAME",
		Short: "Remove a soft RDMA device",
		Long:  "Remove a soft RDMA device. Returns when its users, receivers among them, have let go.",
		Args:  oneArg("name"),

		ValidArgsFunction: onlyArg(env.completeDevice),
		RunE:              func(_ *cobra.Command, args []string) error { return env.devices.Delete(args[0]) },
	}
}

func linkShowCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show RDMA devices",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			devices, err := env.devices.List()
			if err != nil {
				return err
			}
			if env.wantJSON() {
				return printJSON(env, cmd.OutOrStdout(), devices...)
			}
			return printTable(cmd.OutOrStdout(), linkRows(devices))
		},
	}
}

// linkRows makes one row a device.
func linkRows(devices []rdma.Device) [][]string {
	rows := [][]string{{"DEVICE", "STATE", "NETDEV", "NODE-GUID", "PD", "CQ", "QP", "MR", "CM-ID"}}
	for _, d := range devices {
		row := []string{d.Name, orDash(d.State), orDash(d.Netdev), orDash(d.NodeGUID)}
		for _, kind := range []string{"pd", "cq", "qp", "mr", "cm_id"} {
			row = append(row, number(d.Resources[kind]))
		}
		rows = append(rows, row)
	}
	return rows
}
