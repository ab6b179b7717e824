// This file owns `rxctl conn show`: a table of what tells connections apart and
// which of them is in trouble, and a block with all that is known of one.

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

func connShowCommand(env *environment) *cobra.Command {
	var name string
	var index *uint32
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show connections",
		Long: `Show connections, one a line; CONN is the index and the generation, which tells
users of one index apart. With --recv and --conn, show all of one.`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if index != nil && name == "" {
				return usagef("conn show --conn wants --recv, the receiver that the connection is of")
			}
			return env.withClient(func(c client) error {
				conns, err := connsOf(cmd.Context(), c, name, index)
				switch {
				case err != nil:
					return err
				case env.wantJSON():
					return printJSON(env, cmd.OutOrStdout(), conns...)
				case index != nil:
					_, err := io.WriteString(cmd.OutOrStdout(), connBlock(conns[0]))
					return err
				}
				return printTable(cmd.OutOrStdout(), connRows(conns))
			})
		},
	}
	cmd.Flags().Var(&textFlag{&name, "name"}, "recv", "only the connections of this receiver")
	optionVar(cmd.Flags(), &index, "conn", "index", "all of this connection; the number before the dot of CONN", parseCount)
	register(cmd, "recv", env.completeReceiver)
	register(cmd, "conn", env.completeConn)
	return cmd
}

// connsOf asks for one connection of a receiver, for all of one, or for all.
func connsOf(ctx context.Context, c client, name string, index *uint32) ([]ctl.Conn, error) {
	if index == nil {
		return c.Conns(ctx, name)
	}
	conn, err := c.Conn(ctx, name, *index)
	return []ctl.Conn{conn}, err
}

// connRows makes one row a connection.
func connRows(conns []ctl.Conn) [][]string {
	rows := [][]string{{"RECV", "CONN", "STATE", "PEER", "QPN", "CLIENT",
		"MESSAGES", "OUTSTANDING", "HELD", "LOWEST", "EMPTY", "IDLE"}}
	for _, c := range conns {
		rows = append(rows, []string{
			c.ReceiverName, place(c), c.State.String(), c.Peer().String(), number(c.QPN), software(c),
			number(c.Counters.Messages), number(c.Ledger.Outstanding), number(c.Ledger.Held),
			lowest(c.Counters), number(c.Counters.Empty), idle(c),
		})
	}
	return rows
}

// connBlock describes one connection.
func connBlock(c ctl.Conn) string {
	var b block
	n := c.Counters
	fmt.Fprintf(&b, "connection: %s of %s\n", place(c), c.ReceiverName)
	b.line("state", "%s, made %v ago, last message %s", c.State, c.Age().Round(time.Millisecond), lastMessage(c))
	b.line("peer", "%s, %s", c.Peer(), software(c))
	b.line("qp", "number %d, receive queue asked %d, granted %d, poller %d", c.QPN, c.RQAsked, c.RQGranted, c.Poller)
	if c.RNRTimer != 0 {
		b.line("rnr timer", "%v", c.RNRTimer)
	}
	b.line("ledger", "%s", ledgerSum(c.Ledger))
	b.line("slots", "%s", slotSum(c.Ledger))
	if c.Sends != nil {
		b.line("answers", "%s", ledgerSum(*c.Sends))
	}
	b.line("received", "%s", receivedText(n))
	b.line("posts", "%s, %.4f calls per message", postsText(n), n.PostsPerMessage())
	b.line("refused", "%s", refusedText(n))
	b.line("unexpected", "%s", unexpectedText(n))
	b.line("empty", "%s", emptyText(n))
	b.line("verified", "%s", verifiedText(n))
	return b.String()
}

// place prints a connection's index and generation.
func place(c ctl.Conn) string { return number(c.Index) + "." + number(c.Generation) }

// software prints who the peer is, as far as its connect request told.
func software(c ctl.Conn) string {
	if c.Foreign {
		return "foreign"
	}
	return "rxpost"
}

// lastMessage prints when the last message came, in words.
func lastMessage(c ctl.Conn) string {
	if c.IdleMS == nil {
		return "not yet"
	}
	return idle(c) + " ago"
}

// idle prints how long ago the last message came.
func idle(c ctl.Conn) string {
	d, ok := c.Idle()
	if !ok {
		return "-"
	}
	return d.String()
}
