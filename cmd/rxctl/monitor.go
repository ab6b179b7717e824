// This file owns `rxctl monitor`.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

func monitorCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "monitor",
		Short: "Print events until interrupted",
		Long:  "Print events until interrupted. With -j each event is a JSON object on a line of its own.",
		Args:  noArgs,

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withClient(func(c client) error {
				err := env.monitor(cmd.Context(), c)
				if errors.Is(err, context.Canceled) {
					return nil // Ctrl-C is how a monitor ends, its first request included
				}
				return err
			})
		},
	}
}

func (env *environment) monitor(ctx context.Context, c client) error {
	w, err := c.Watch(ctx)
	if err != nil {
		return err
	}
	// Straight to stdout: an event that waits in a buffer is late.
	return errors.Join(env.printEvents(env.stdout, w), w.Close())
}

// printEvents prints events until there are no more.
func (env *environment) printEvents(out io.Writer, w watcher) error {
	for e, err := range w.All() {
		if err != nil {
			return err
		}
		if err := env.printEvent(out, e); err != nil {
			return err
		}
	}
	return nil
}

// printEvent prints one event on one line.
func (env *environment) printEvent(out io.Writer, e ctl.Event) error {
	if env.wantJSON() {
		return printJSONLine(out, e)
	}
	if _, err := fmt.Fprintln(out, eventLine(e)); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// eventLine describes one event.
func eventLine(e ctl.Event) string {
	words := []string{e.Type.String()}
	if !e.Time.IsZero() {
		words = []string{e.Time.Format("15:04:05.000000"), e.Type.String()}
	}
	add := func(show bool, format string, args ...any) {
		if show {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(e.ReceiverName != "", "%s", e.ReceiverName)
	add(e.Device != "", "device %s", e.Device)
	if e.ConnIndex != nil {
		add(true, "conn %d", *e.ConnIndex)
	}
	add(e.QPN != 0, "qpn %d", e.QPN)
	add(e.PeerAddr.IsValid(), "peer %s", netip.AddrPortFrom(e.PeerAddr, e.PeerPort))
	add(e.Type == ctl.EventTypeLost, "%s", lostText(e.Count))
	add(e.Reason != "", "(%s)", e.Reason)
	if e.Ledger != nil {
		add(true, "%s", ledgerSum(*e.Ledger))
	}
	if e.Mappings != nil {
		add(true, "with %s", plural(*e.Mappings, "live mapping"))
	}
	return strings.Join(words, " ")
}

// lostText says how many events were lost, if that is known.
func lostText(n uint64) string {
	if n == 0 {
		return "an unknown number of events"
	}
	return plural(n, "event")
}
