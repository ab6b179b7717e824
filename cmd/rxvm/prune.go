package main

// This file owns the command that makes room in the cache.

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rxpost/rxpost/harness"
)

const pruneLong = `Remove from the cache what the lock file does not name, no process uses, and
nobody has used for long: builds and initramfs for a day, working copies for a
week, kernels and sources for 30 days. Every command of rxvm does so once a
day. --unused sets one time for all of them.`

func pruneCommand() *cobra.Command {
	var unused time.Duration
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove unused entries of the cache",
		Long:  pruneLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if unused < 0 {
				return fmt.Errorf("--unused %v: want a time that is not negative, such as 12h", unused)
			}
			p, err := openProject()
			if err != nil {
				return err
			}
			gone, err := p.Prune(unused)
			for _, g := range gone {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%d MiB\n", g.Key, g.Bytes>>20)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "removed %d entries, %d MiB\n", len(gone), harness.Bytes(gone)>>20)
			return err
		},
	}
	cmd.Flags().DurationVar(&unused, "unused", 0, "remove what was not used for so long, whatever it is")
	return cmd
}
