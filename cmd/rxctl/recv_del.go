// This file owns `rxctl recv del`.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

// delTimeout is how long del waits unless told otherwise. It is longer than
// what rxe takes to complain about a queue pair that it cannot destroy (50 s).
const delTimeout = time.Minute

func recvDelCommand(env *environment) *cobra.Command {
	timeout := new(delTimeout)
	var noWait bool
	cmd := &cobra.Command{
		Use:   "del NAME",
		Short: "Delete a receiver and wait until nothing of it is left",
		Long:  "Delete a receiver, wait until nothing of it is left and print its last ledger.\nInterrupted or timed out, the wait ends and the teardown goes on.",
		Args:  oneArg("name"),

		ValidArgsFunction: onlyArg(env.completeReceiver),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withClient(func(c client) error {
				if noWait {
					_, err := c.DeleteNoWait(cmd.Context(), args[0])
					return err
				}
				ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
				defer cancel()
				gone, err := env.deleteAndWait(ctx, c, args[0])
				if err != nil {
					return stillClosing(err, args[0])
				}
				if env.wantJSON() {
					return printJSON(env, cmd.OutOrStdout(), gone)
				}
				return printGone(cmd.OutOrStdout(), gone)
			})
		},
	}
	optionVar(cmd.Flags(), &timeout, "timeout", "time", "longest wait for the teardown (default 1m)", parseTime)
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "start the teardown and leave")
	return cmd
}

// deleteAndWait deletes a receiver and shows, on a terminal, what is left of it.
func (env *environment) deleteAndWait(ctx context.Context, c client, name string) (ctl.Event, error) {
	p := env.newProgress(env.terminal)
	defer p.clear()
	stop := p.every(time.Second, func() string {
		r, err := c.Receiver(ctx, name)
		if err != nil {
			return "" // gone, or about to be: the wait will tell
		}
		return fmt.Sprintf("%s: %s, %s, %s outstanding", name, r.State,
			plural(r.Conns, "connection"), plural(r.Ledger.Outstanding, "receive"))
	})
	defer stop()
	return c.Delete(ctx, name)
}

// stillClosing explains a wait that was given up.
func stillClosing(err error, name string) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("receiver %s is still closing; rxctl recv show %s tells when it is gone: %w", name, name, err)
	}
	return err
}

// printGone prints the last ledger.
func printGone(w io.Writer, e ctl.Event) error {
	text := e.ReceiverName + ": gone"
	if e.Mappings != nil {
		text += ", " + plural(*e.Mappings, "live mapping")
	}
	text += "\n"
	if e.Ledger == nil {
		text += "  ledger: not known, its event was lost\n"
	} else {
		text += "  ledger: " + ledgerSum(*e.Ledger) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
