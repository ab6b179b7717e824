// Command rxctl configures rxpost, the in-kernel RDMA receiver, and shows what
// it does.
//
// This file owns the process: signals, standard streams and the exit status.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
	"golang.org/x/term"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end; a second one ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, &environment{
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		version:  version,
		dial:     dialKernel(ctl.New),
		passive:  dialKernel(ctl.NewPassive),
		devices:  rdma.Host(),
		sys:      os.DirFS("/sys"),
		addrs:    netdevAddrs,
	}, os.Args[1:]))
}
