// This file owns `rxctl stats --watch`: what a receiver does, period by period.

package main

import (
	"context"
	"fmt"
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
		if err := env.printActivity(line, activityOf(before, now)); err != nil {
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

// activity is what a receiver did in one period, and how it stood at the end.
type activity struct {
	Time              time.Time         `json:"time"` // the end of the period
	ReceiverID        uint32            `json:"receiver-id"`
	ReceiverName      string            `json:"receiver-name"`
	State             ctl.ReceiverState `json:"state"`
	Period            time.Duration     `json:"period-ns"`
	Messages          uint64            `json:"messages"`
	Bytes             uint64            `json:"bytes"`
	PostCalls         uint64            `json:"post-calls"`
	MessagesPerSecond float64           `json:"messages-per-second"`
	BytesPerSecond    float64           `json:"bytes-per-second"`
	PostsPerMessage   float64           `json:"posts-per-message"`
	Outstanding       uint32            `json:"outstanding"`
	Held              uint32            `json:"held"`
	Conns             uint32            `json:"conns"`
	Empty             uint64            `json:"empty"`
	// Of the whole device; absent when it does not count them.
	DeviceRNR *uint64 `json:"device-rnr,omitempty"`
}

// activityOf tells what happened between two samples of one receiver.
func activityOf(before, now sample) activity {
	was, is, ledger := before.receiver.Counters, now.receiver.Counters, now.receiver.Ledger
	passed := now.at.Sub(before.at)
	during := ctl.Counters{Messages: is.Messages - was.Messages, PostCalls: is.PostCalls - was.PostCalls}
	return activity{
		Time: now.at, ReceiverID: now.receiver.ID, ReceiverName: now.receiver.Name, State: now.receiver.State, Period: passed,
		Messages: during.Messages, Bytes: is.Bytes - was.Bytes, PostCalls: during.PostCalls,
		MessagesPerSecond: float64(during.Messages) / passed.Seconds(),
		BytesPerSecond:    float64(is.Bytes-was.Bytes) / passed.Seconds(),
		PostsPerMessage:   during.PostsPerMessage(),
		Outstanding:       ledger.Outstanding, Held: ledger.Held, Conns: now.receiver.Conns,
		Empty: is.Empty - was.Empty, DeviceRNR: rnrsBetween(before, now),
	}
}

// rnrsBetween counts the RNR answers that the device sent meanwhile, if it
// counts them. A device that was made anew counts from 0 again.
func rnrsBetween(before, now sample) *uint64 {
	switch {
	case before.rnr == nil || now.rnr == nil:
		return nil
	case *now.rnr < *before.rnr:
		return now.rnr
	}
	return new(*now.rnr - *before.rnr)
}

// printActivity prints one line, under a heading now and then, or one JSON
// object.
func (env *environment) printActivity(line int, a activity) error {
	if env.wantJSON() {
		return printJSONLine(env.stdout, a)
	}
	if line%headingEvery == 0 {
		if _, err := fmt.Fprintf(env.stdout, "%12s %10s %10s %12s %6s %6s %8s %6s\n",
			"MESSAGES/S", "MIB/S", "POSTS/MSG", "OUTSTANDING", "HELD", "CONNS", "EMPTY", "RNR"); err != nil {
			return err
		}
	}
	rnr := "-"
	if a.DeviceRNR != nil {
		rnr = number(*a.DeviceRNR)
	}
	_, err := fmt.Fprintf(env.stdout, "%12.0f %10.2f %10.4f %12d %6d %6d %8d %6s\n",
		a.MessagesPerSecond, a.BytesPerSecond/(1<<20), a.PostsPerMessage, a.Outstanding, a.Held, a.Conns, a.Empty, rnr)
	return err
}
