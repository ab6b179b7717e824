// This file owns `rxctl stats`: which numbers of a receiver belong together.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

// rnrCounter is the device's count of "receiver not ready" answers that it
// sent, for all of its queue pairs.
const rnrCounter = "send_rnr_err"

// statistics is all that is known of one receiver's work.
type statistics struct {
	Receiver        ctl.Receiver `json:"receiver"`
	Stats           ctl.Stats    `json:"stats"`
	PostsPerMessage float64      `json:"posts-per-message"`
	// Of the whole device; absent when it does not count them.
	DeviceRNR *uint64 `json:"device-rnr,omitempty"`
}

func statsCommand(env *environment) *cobra.Command {
	var period *time.Duration
	cmd := &cobra.Command{
		Use:   "stats [NAME]",
		Short: "Show counters and histograms of receivers",
		Long: `Show counters and histograms of receivers.

With --watch, print one line a period of what one receiver did in it, until
interrupted; with -j, each is a JSON object. RNRs are those of its whole device.

` + glossary,
		Args:              maybeArg("name"),
		ValidArgsFunction: onlyArg(env.completeReceiver),
		RunE: func(cmd *cobra.Command, args []string) error {
			if period != nil && (len(args) == 0 || *period <= 0) {
				return usagef("stats --watch wants the name of one receiver and a period above 0")
			}
			return env.withClient(func(c client) error {
				if period != nil {
					return env.watchStats(cmd.Context(), c, args[0], *period)
				}
				all, err := env.gather(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				if env.wantJSON() {
					return printJSON(env, cmd.OutOrStdout(), all...)
				}
				return printStatistics(cmd.OutOrStdout(), all)
			})
		},
	}
	optionVar(cmd.Flags(), &period, "watch", "period", "print a line a period (default period 1s)", parseTime)
	cmd.Flags().Lookup("watch").NoOptDefVal = "1s"
	return cmd
}

// glossary explains the words of the counters, here and in recv and conn show.
const glossary = `Words:
  posted        receives that the device accepted
  completed     receives that a message ended
  flushed       receives that the end of their connection ended: normal
  failed        receives that an error ended; statuses has its name
  reclaimed     receives taken back after their QP was destroyed, because no
                completion came
  outstanding   receives in the device's hands now
  held          slots completed, waiting for their batch or their hold time
  free          slots neither posted nor held
  answers       the ledger of what the echo sink sends, counted in sends
  immediate     messages that came with immediate data; of them, RDMA writes
                used up a receive and brought no message
  chains        calls of ib_post_recv by the number of receives handed over
  refused       calls in which the device took less than it was handed;
                errors has the errno
  skipped       receives not posted, for their connection had failed
  stale         completions that belong to a connection that is gone
  bogus         completions for a slot that was not posted or does not exist
  empty         times the poller found a live queue used up; the device may run
                dry more often, which rnr shows
  lowest        fewest receives outstanding on a live connection, as its poller saw
                it; the device's queue can have been shorter, even empty (see rnr)
  rnr           times the device told a sender to wait (receiver not ready)
  gaps          sequence numbers that never came
  repeats       sequence numbers that came again or out of order
  damaged       messages whose length or checksum is wrong
  unrecognised  messages without the header of rxpost_send`

// gather collects the statistics of the receiver that args name, or of all.
func (env *environment) gather(ctx context.Context, c client, args []string) ([]statistics, error) {
	receivers, err := receiversOf(ctx, c, args)
	if err != nil {
		return nil, err
	}
	all := make([]statistics, 0, len(receivers))
	for _, r := range receivers {
		stats, err := c.Stats(ctx, r.Name)
		if err != nil {
			return nil, fmt.Errorf("receiver %s: %w", r.Name, err)
		}
		all = append(all, statistics{
			Receiver: r, Stats: stats,
			PostsPerMessage: r.Counters.PostsPerMessage(),
			DeviceRNR:       env.deviceRNR(r.Device),
		})
	}
	return all, nil
}

// deviceRNR reads the device's count of RNR answers. A device need not have
// one, and may be gone; then there is none to show.
func (env *environment) deviceRNR(device string) *uint64 {
	if device == "" {
		return nil
	}
	counters, err := env.devices.Counters(device)
	if err != nil {
		return nil
	}
	if n, ok := counters[rnrCounter]; ok {
		return &n
	}
	return nil
}
