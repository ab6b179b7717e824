// This file owns the life of what `rxctl send` starts: begin together, wait, end
// in order.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// stopMargin is what a stopped run may take beyond its own time-outs.
const stopMargin = 10 * time.Second

// runResult is one finished run, and how long its round trips took.
type runResult struct {
	run ctl.Run
	rtt []ctl.RTTBucket
}

// send starts the runs, waits for their end and returns them, in the order of
// their QPs. The end of ctx stops them in order.
func (env *environment) send(ctx context.Context, c client, s sending, visible bool) ([]runResult, error) {
	ids, err := startRuns(ctx, c, s)
	if err != nil {
		return nil, err
	}
	p := env.newProgress(visible)
	defer p.clear()
	stop := p.every(time.Second, runsProgress(ctx, c, ids))
	defer stop()
	runs, err := finishRuns(ctx, c, ids)
	if err != nil && ctx.Err() != nil {
		p.show("stopping…")
		runs, err = stopRuns(context.WithoutCancel(ctx), c, ids)
	}
	if err != nil {
		return nil, err
	}
	return results(context.WithoutCancel(ctx), c, runs)
}

// startRuns starts a run for each QP. Several wait for one another.
func startRuns(ctx context.Context, c client, s sending) ([]uint32, error) {
	s.cfg.Hold = s.qps > 1
	ids := make([]uint32, 0, s.qps)
	for range s.qps {
		id, err := c.StartRun(ctx, s.cfg)
		if err != nil {
			// Those before have sent nothing, and end with the client.
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// finishRuns lets several runs begin, once all are connected or have failed to,
// and waits for the end of all.
func finishRuns(ctx context.Context, c client, ids []uint32) ([]ctl.Run, error) {
	if len(ids) > 1 {
		runs, err := c.ReadyRuns(ctx, ids...)
		if err != nil {
			return nil, err
		}
		if anyReady(runs) {
			if err := c.ReleaseRuns(ctx); err != nil {
				return nil, err
			}
		}
	}
	return c.WaitRuns(ctx, ids...)
}

func anyReady(runs []ctl.Run) bool {
	for _, r := range runs {
		if r.State == ctl.RunStateReady {
			return true
		}
	}
	return false
}

// stopRuns stops all runs and waits for their end, as long as their own
// time-outs allow from when the last was asked to stop.
func stopRuns(ctx context.Context, c client, ids []uint32) ([]ctl.Run, error) {
	r, err := c.Run(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := c.StopRun(ctx, id); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.ConnectTimeout.Duration()+r.DrainTimeout.Duration()+stopMargin)
	defer cancel()
	return c.WaitRuns(ctx, ids...)
}

// results adds to finished runs the times of their round trips.
func results(ctx context.Context, c client, runs []ctl.Run) ([]runResult, error) {
	all := make([]runResult, 0, len(runs))
	for _, r := range runs {
		one := runResult{run: r}
		if r.RoundTrips != nil {
			var err error
			if one.rtt, err = c.RTT(ctx, r.ID); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// runsProgress returns what makes the line of runs: their state, their total,
// and the speed since the line before.
func runsProgress(ctx context.Context, c client, ids []uint32) func() string {
	mine := make(map[uint32]bool, len(ids))
	for _, id := range ids {
		mine[id] = true
	}
	var before ctl.Run
	return func() string {
		all, err := c.Runs(ctx)
		if err != nil {
			return "" // the wait for the runs will tell
		}
		var runs []ctl.Run
		for _, r := range all {
			if mine[r.ID] {
				runs = append(runs, r)
			}
		}
		if len(runs) == 0 {
			return ""
		}
		now := sumRuns(runs)
		line := progressLine(now, before)
		before = now
		return line
	}
}

// progressLine describes a sum of runs on their way.
func progressLine(now, before ctl.Run) string {
	line := fmt.Sprintf("%s: %s", now.State, plural(now.Completed, "message"))
	if passed := now.Elapsed - before.Elapsed; passed > 0 {
		line += fmt.Sprintf(", %.0f messages/s", float64(now.Completed-before.Completed)/passed.Seconds())
	}
	if now.Count > 0 {
		line += fmt.Sprintf(", %d %% of %d", now.Completed*100/now.Count, now.Count)
	}
	return line
}
