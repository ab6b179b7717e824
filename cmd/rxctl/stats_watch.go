// This file owns `rxctl stats --watch`: what a receiver does, period by period.

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// headingEvery is after how many lines the heading comes again.
const headingEvery = 20

// sample is what a receiver and its device counted until one moment.
type sample struct {
	at       time.Time
	receiver ctl.Receiver
	rnr      *uint64
}

// watchStats prints a line a period until ctx ends, which is how a watch ends.
func (env *environment) watchStats(ctx context.Context, c client, name string, period time.Duration) error {
	before, err := env.sample(ctx, c, name)
	if err != nil {
		return err
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for line := 0; ; line++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := env.sample(ctx, c, name)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case now.receiver.ID != before.receiver.ID:
			return failedError{fmt.Errorf("receiver %s was deleted and added anew", name)}
		}
		// Straight to stdout: a line that waits in a buffer is late.
		if err := printSample(env.stdout, line, before, now); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		before = now
	}
}

// sample reads the counters of now.
func (env *environment) sample(ctx context.Context, c client, name string) (sample, error) {
	r, err := c.Receiver(ctx, name)
	if err != nil {
		return sample{}, err
	}
	return sample{at: time.Now(), receiver: r, rnr: env.deviceRNR(r.Device)}, nil
}

// printSample prints what happened between two samples.
func printSample(w io.Writer, line int, before, now sample) error {
	if line%headingEvery == 0 {
		if _, err := fmt.Fprintf(w, "%12s %10s %10s %12s %6s %6s %8s %6s\n",
			"MESSAGES/S", "MIB/S", "POSTS/MSG", "OUTSTANDING", "HELD", "CONNS", "EMPTY", "RNR"); err != nil {
			return err
		}
	}
	was, is := before.receiver.Counters, now.receiver.Counters
	passed := now.at.Sub(before.at).Seconds()
	during := ctl.Counters{Messages: is.Messages - was.Messages, PostCalls: is.PostCalls - was.PostCalls}
	_, err := fmt.Fprintf(w, "%12.0f %10.2f %10.4f %12d %6d %6d %8d %6s\n",
		float64(during.Messages)/passed, float64(is.Bytes-was.Bytes)/passed/(1<<20), during.PostsPerMessage(),
		now.receiver.Ledger.Outstanding, now.receiver.Ledger.Held, now.receiver.Conns,
		is.Empty-was.Empty, rnrsBetween(before, now))
	return err
}

// rnrsBetween prints how many RNR answers the device sent meanwhile, if it
// counts them.
func rnrsBetween(before, now sample) string {
	if before.rnr == nil || now.rnr == nil {
		return "-"
	}
	return number(*now.rnr - *before.rnr)
}
