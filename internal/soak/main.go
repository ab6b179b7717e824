// Command soak runs the tests that have dice and races for as long as it is
// told, on the kernels that look for mistakes, and writes what was done and what
// was found into docs/reliability.md. This file owns the flags and the order.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options is what the command line says.
type options struct {
	duration time.Duration
	seed     uint64
	rxvm     string // the command line of the VM, without the kernel
	logs     string // folder
	table    string // file
	only     string // name of one part, or ""
}

func main() {
	var o options
	flag.DurationVar(&o.duration, "duration", time.Hour, "how long all parts take together, boots included")
	flag.Uint64Var(&o.seed, "seed", 1, "decides all dice; each run of a part has the next")
	flag.StringVar(&o.rxvm, "rxvm", "bin/rxvm", "how to run a test in a VM; --kernel is added")
	flag.StringVar(&o.logs, "logs", "bin/soak", "where the runs' output goes")
	flag.StringVar(&o.table, "table", "", "file to write the table to; default: only print it")
	flag.StringVar(&o.only, "part", "", "run this part only, all the time")
	flag.Parse()
	if err := o.valid(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
}

// valid finds fault before an hour is spent.
func (o options) valid(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("what is %q? There are only flags", rest[0])
	case o.duration <= 0:
		return fmt.Errorf("-duration: %v is no time", o.duration)
	case o.seed > mostSeed:
		return fmt.Errorf("-seed: %d is more than %d", o.seed, uint64(mostSeed))
	case o.table != "":
		_, _, err := tableIn(o.table)
		return err
	}
	return nil
}

// mostSeed leaves room for the seeds of further runs: the tests take 31 bits.
const mostSeed = 1 << 30

// soak runs the parts and writes what they did. What was found until an interrupt,
// or until a run could not be made, is written all the same.
func soak(ctx context.Context, o options) error {
	todo, err := parts(o.only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.logs, 0o755); err != nil {
		return err
	}
	shares := 0
	for _, p := range todo {
		shares += p.share
	}
	total := totals{}
	began := time.Now()
	failed := runParts(ctx, o, todo, shares, total)
	text := table(total, o.seed, time.Since(began), ctx.Err() != nil)
	fmt.Print("\n", text)
	if o.table != "" {
		if err := writeTable(o.table, text); err != nil {
			return err
		}
	}
	if failed != nil {
		return failed
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %v", time.Since(began).Round(time.Second))
	}
	if n := total.failures(); n > 0 {
		return fmt.Errorf("%d findings in %d runs; their output is in %s", n, total.runs(), o.logs)
	}
	return nil
}

// runParts gives each part its share of the time, and runs it again until that is
// used up, or until a run cannot be made.
func runParts(ctx context.Context, o options, todo []part, shares int, total totals) error {
	for _, p := range todo {
		end := time.Now().Add(o.duration * time.Duration(p.share) / time.Duration(shares))
		for n := uint64(0); ctx.Err() == nil && (n == 0 || time.Now().Before(end)); n++ {
			r, err := p.run(ctx, o, o.seed+n, time.Until(end))
			if err != nil {
				return err
			}
			fmt.Printf("%s, seed %d: %s\n", p.name, o.seed+n, r.summary())
			total.add(p.kernel, r)
		}
	}
	return nil
}
