package main

// This file owns what a soak consists of, and running one piece of it.

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// part is a set of tests on one kernel.
type part struct {
	name   string
	kernel string
	tests  string // regular expression
	share  int    // of the time
	dice   int    // so many of the tests go on as long as RXPOST_SOAK says
	rounds int    // of a part without dice: how often a race is tried in one run
}

// The shortest time that dice are given in a run, and what a boot, the search
// for leaks and the power-off take beside it.
const (
	leastDice = 20 * time.Second
	aroundRun = 60 * time.Second
)

// longestRun is what a run with dice is given at most; the next goes on. runLimit is
// far beyond what any may take.
const (
	longestRun = 30 * time.Minute
	runLimit   = 60 * time.Minute
)

// allParts are the kernels that look for mistakes, and fast ones for numbers:
// what is rare may want many tries, of which a kernel that watches every access
// makes few.
func allParts() []part {
	return []part{
		{name: "teardown", kernel: "debug", share: 10, rounds: 5,
			tests: "^Test(Delete.*|DeviceRemovedUnderTraffic|Unload.*UnderTraffic|Teardown.*)$"},
		{name: "failures", kernel: "debug", share: 8, tests: failureTests, rounds: 2},
		{name: "storm", kernel: "debug", share: 8, tests: stormTests, dice: 1},
		{name: "netlink fuzzing", kernel: "debug", share: 6, tests: fuzzTests, dice: 2},
		{name: "hostile peers", kernel: "debug", share: 4, tests: hostileTests, dice: 1},
		{name: "every failure", kernel: "next", share: 3, tests: failureTests, rounds: 10},
		{name: "storms", kernel: "6.12", share: 11, tests: stormTests, dice: 1},
		{name: "many messages", kernel: "6.12", share: 5, tests: fuzzTests, dice: 2},
		{name: "many peers", kernel: "6.12", share: 3, tests: hostileTests, dice: 1},
		{name: "data races", kernel: "kcsan", share: 5, tests: stormTests, dice: 1},
	}
}

const (
	failureTests = "OutOfMemory$|^TestPollersAllocateNothing$|^TestEach(FailureOfAConnection|CQFails|PostRefused)$"
	stormTests   = "^TestStorm"
	fuzzTests    = "^TestFuzz"
	hostileTests = "^TestHostile"
)

// parts returns the part called only, or all.
func parts(only string) ([]part, error) {
	if only == "" {
		return allParts(), nil
	}
	var names []string
	for _, p := range allParts() {
		if p.name == only {
			return []part{p}, nil
		}
		names = append(names, p.name)
	}
	return nil, fmt.Errorf("no part %q; there are %s", only, strings.Join(names, ", "))
}

// run runs the part once in a VM; left is what remains of the part's time.
func (p part) run(ctx context.Context, o options, seed uint64, left time.Duration) (*result, error) {
	name := filepath.Join(o.logs, fmt.Sprintf("%s-%d.log", strings.ReplaceAll(p.name, " ", "-"), seed))
	log, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-timeout", runLimit.String(),
		"-exec", o.rxvm+" --kernel "+p.kernel, "-run", p.tests, "./e2e")
	cmd.Env = append(os.Environ(), fmt.Sprint("RXPOST_SEED=", seed))
	if p.dice > 0 {
		each := max(leastDice, (min(left, longestRun)-aroundRun)/time.Duration(p.dice))
		cmd.Env = append(cmd.Env, fmt.Sprint("RXPOST_SOAK=", each.Round(time.Second)))
	} else {
		cmd.Env = append(cmd.Env, fmt.Sprint("RXPOST_ROUNDS=", p.rounds))
	}
	// Interrupted, go test ends the VM itself.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	out, writer := io.Pipe()
	cmd.Stdout = io.MultiWriter(log, writer)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		done <- cmd.Wait()
		writer.Close()
	}()
	r := readResult(out)
	err = <-done
	if ctx.Err() != nil {
		err = nil // that it was interrupted is no finding
		r.tests, r.started = max(r.tests, 1), true
	}
	return r, r.end(err, name)
}
