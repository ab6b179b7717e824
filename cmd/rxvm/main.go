// Command rxvm runs a command, a shell or a Go test binary in a virtual
// machine with the project's kernel modules and soft RDMA devices. The same
// binary is the machine's first process.
//
// This file owns the process: what it is (host or guest), its signals and its
// exit status.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rxpost/rxpost/harness"
	"github.com/rxpost/rxpost/harness/guest"
	"github.com/rxpost/rxpost/harness/wire"
)

// Exit statuses of rxvm's own, out of the way of commands' and tests'.
const (
	exitLost        = 240 // the VM ended without the command's status
	exitDeadline    = 241 // the command did not end in time
	exitSplat       = 242 // the kernel complained
	exitHarness     = 243 // rxvm could not do its part: usage, build, download
	exitInterrupted = 130 // as a shell reports Ctrl-C
)

func main() {
	if isGuest() {
		guest.Main()
	}
	os.Exit(host())
}

// isGuest says whether this is the VM's init. A container's first process has
// number 1 too, but no Spec.
func isGuest() bool {
	_, err := os.Stat(wire.SpecPath)
	return os.Getpid() == 1 && err == nil
}

// statusError carries a command's own exit status out of cobra.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func host() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return exitCode(execute(ctx, os.Args[1:], os.Stdout))
}

// execute carries out one command line. Commands print into a buffer; output
// that got lost is an error even if all else went well.
func execute(ctx context.Context, args []string, stdout io.Writer) error {
	out := bufio.NewWriter(stdout)
	cmd := rootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(os.Stderr)
	err := cmd.ExecuteContext(ctx)
	if werr := out.Flush(); werr != nil {
		err = errors.Join(err, fmt.Errorf("write output: %w", werr))
	}
	return err
}

// exitCode says what went wrong, and returns its exit status.
func exitCode(err error) int {
	var status statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintln(os.Stderr, "rxvm:", err)
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, new(*harness.LostError)):
		return exitLost
	case errors.As(err, new(*harness.DeadlineError)):
		return exitDeadline
	case errors.As(err, new(*harness.SplatError)):
		return exitSplat
	}
	return exitHarness
}
