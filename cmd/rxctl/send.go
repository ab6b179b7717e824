// This file owns `rxctl send`.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

// stopMargin is what a stopped run may take beyond its own time-outs.
const stopMargin = 10 * time.Second

func sendCommand(env *environment) *cobra.Command {
	var cfg ctl.RunConfig
	show := "auto"
	cmd := &cobra.Command{
		Use:   "send ADDRESS:PORT",
		Short: "Send messages to a receiver with the traffic source",
		Long: `Send messages to a receiver with the traffic source, and print what was done.

Ctrl-C stops the run in order: what is outstanding is waited for and counted.
A second Ctrl-C leaves at once; the kernel then stops the run.`,
		Example: "  rxctl send 10.9.0.1:7471 --size 64 --count 200k --batch 16",
		Args:    oneArg("address"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cfg.Addr, err = parseAddr(args[0]); err != nil {
				return usageError{err}
			}
			visible, err := env.progressWanted(show)
			if err != nil {
				return err
			}
			return env.withClient(func(c client) error {
				r, err := env.send(cmd.Context(), c, cfg, visible)
				if err != nil {
					return err
				}
				return env.printRun(cmd.OutOrStdout(), r)
			})
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	optionVar(fs, &cfg.Size, "size", "bytes", "bytes in a message, up to 1M (default 64)", parseSize)
	optionVar(fs, &cfg.Count, "count", "messages", "messages to send; 0 is no limit (default 0)", parseCount64)
	optionVar(fs, &cfg.Duration, "duration", "time", "time after which no more is sent; 0 is no limit (default 0)", parseMilliseconds)
	optionVar(fs, &cfg.Batch, "batch", "sends", "sends posted in one call, 1 to 64 (default 16)", parseCount)
	optionVar(fs, &cfg.InFlight, "in-flight", "sends", "most sends posted and not yet acknowledged, up to 4096 (default 128)", parseCount)
	optionVar(fs, &cfg.Rate, "rate", "messages/s", "most messages per second; 0 is no limit (default 0)", parseCount64)
	optionVar(fs, &cfg.ConnectTimeout, "connect-timeout", "time", "longest wait for the connection (default 5s)", parseMilliseconds)
	optionVar(fs, &cfg.DrainTimeout, "drain-timeout", "time", "longest wait for outstanding sends at the end (default 5s)", parseMilliseconds)
	fs.StringVar(&show, "progress", show, "show progress: always, never, or auto: on a terminal")
	return cmd
}

// progressWanted reads --progress.
func (env *environment) progressWanted(text string) (bool, error) {
	switch text {
	case "auto":
		return env.terminal, nil
	case "always":
		return true, nil
	case "never":
		return false, nil
	}
	return false, usagef("--progress %q: want auto, always or never", text)
}

// send starts a run, waits for its end and returns it. The end of ctx stops the
// run in order.
func (env *environment) send(ctx context.Context, c client, cfg ctl.RunConfig, visible bool) (ctl.Run, error) {
	id, err := c.StartRun(ctx, cfg)
	if err != nil {
		return ctl.Run{}, err
	}
	p := env.newProgress(visible)
	defer p.clear()
	stop := p.every(time.Second, runProgress(ctx, c, id))
	defer stop()
	r, err := c.WaitRun(ctx, id)
	if err == nil || ctx.Err() == nil {
		return r, err
	}
	p.show("stopping…")
	return stopRun(context.WithoutCancel(ctx), c, id)
}

// stopRun stops a run and waits for its end, as long as its own time-outs allow.
func stopRun(ctx context.Context, c client, id uint32) (ctl.Run, error) {
	r, err := c.Run(ctx, id)
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.ConnectTimeout.Duration()+r.DrainTimeout.Duration()+stopMargin)
	defer cancel()
	if err := c.StopRun(ctx, id); err != nil {
		return r, err
	}
	return c.WaitRun(ctx, id)
}

// runProgress returns what makes the line of a run: the total, and the speed
// since the line before.
func runProgress(ctx context.Context, c client, id uint32) func() string {
	var before ctl.Run
	return func() string {
		r, err := c.Run(ctx, id)
		if err != nil {
			return "" // the wait for the run will tell
		}
		line := fmt.Sprintf("%s: %s", r.State, plural(r.Completed, "message"))
		if passed := r.Elapsed - before.Elapsed; passed > 0 {
			line += fmt.Sprintf(", %.0f messages/s", float64(r.Completed-before.Completed)/passed.Seconds())
		}
		if r.Count > 0 {
			line += fmt.Sprintf(", %d %% of %d", r.Completed*100/r.Count, r.Count)
		}
		before = r
		return line
	}
}
