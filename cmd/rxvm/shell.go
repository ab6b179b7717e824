package main

// This file owns the interactive shell.

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rxpost/rxpost/harness/wire"
)

// shellTime is a working day: a person decides when a shell ends.
const shellTime = 12 * time.Hour

func shellCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shell",
		Short: "Open a shell in a VM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.cfg.Args = []string{"sh", "-l"}
			o.cfg.Stdin = os.Stdin
			if o.cfg.Timeout == 0 {
				o.cfg.Timeout = shellTime
			}
			fd := int(os.Stdin.Fd())
			if !term.IsTerminal(fd) {
				return o.run(cmd.Context())
			}
			restore, err := o.terminal(fd)
			if err != nil {
				return err
			}
			defer restore()
			return o.run(cmd.Context())
		},
	}
	o.vmFlags(cmd)
	return cmd
}

// terminal makes the host's terminal raw and has the guest's follow its size.
func (o *options) terminal(fd int) (restore func(), err error) {
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	o.cfg.TTY = true
	o.cfg.Size = terminalSize(fd)
	changed := make(chan os.Signal, 1)
	sizes := make(chan wire.Size)
	done := make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-changed:
			case <-done:
				return
			}
			select {
			case sizes <- terminalSize(fd):
			case <-done:
				return
			}
		}
	}()
	o.cfg.Resizes = sizes
	return func() {
		signal.Stop(changed)
		close(done)
		term.Restore(fd, state)
	}, nil
}

// terminalSize is zero if the size is not known; the guest then keeps its own.
func terminalSize(fd int) wire.Size {
	cols, rows, err := term.GetSize(fd)
	if err != nil {
		return wire.Size{}
	}
	return wire.Size{Rows: uint16(rows), Cols: uint16(cols)}
}
