// This file owns `rxctl conn show`.

package main

import (
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

func connShowCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show connections",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withClient(func(c client) error {
				conns, err := c.Conns(cmd.Context(), name)
				if err != nil {
					return err
				}
				if env.wantJSON() {
					return printJSON(env, cmd.OutOrStdout(), conns...)
				}
				return printTable(cmd.OutOrStdout(), connRows(conns))
			})
		},
	}
	cmd.Flags().StringVar(&name, "recv", "", "only the connections of this receiver")
	return cmd
}

// connRows makes one row a connection.
func connRows(conns []ctl.Conn) [][]string {
	rows := [][]string{{"RECV", "CONN", "STATE", "PEER", "QPN", "POSTED", "COMPLETED", "OUTSTANDING",
		"HELD", "FREE", "LOWEST", "EMPTY", "ASKED/GRANTED", "AGE", "IDLE"}}
	for _, c := range conns {
		rows = append(rows, []string{
			c.ReceiverName, number(c.Index) + "." + number(c.Generation), c.State.String(), peer(c), number(c.QPN),
			number(c.Ledger.Posted), number(c.Ledger.Completed), number(c.Ledger.Outstanding),
			number(c.Ledger.Held), number(c.Ledger.Free), lowest(c.Counters), number(c.Counters.Empty),
			number(c.RQAsked) + "/" + number(c.RQGranted), c.Age().Round(time.Millisecond).String(), idle(c),
		})
	}
	return rows
}

// peer prints who sends, and whether it is a stranger.
func peer(c ctl.Conn) string {
	if c.Foreign {
		return c.Peer().String() + " (foreign)"
	}
	return c.Peer().String()
}

// idle prints how long ago the last message came.
func idle(c ctl.Conn) string {
	d, ok := c.Idle()
	if !ok {
		return "-"
	}
	return d.String()
}

// lowest prints the fewest receives that were outstanding, if that is known.
func lowest(c ctl.Counters) string {
	if c.Lowest == nil {
		return "-"
	}
	return number(*c.Lowest)
}
