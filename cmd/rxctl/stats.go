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
interrupted. RNRs are those of its whole device.`,
		Args: maybeArg("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if period != nil && (len(args) == 0 || env.wantJSON() || *period <= 0) {
				return usagef("stats --watch wants the name of one receiver, a period above 0, and no -j")
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
