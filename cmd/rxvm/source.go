package main

// This file owns the command that prints where the kernel's source is.

import (
	"fmt"

	"github.com/spf13/cobra"
)

func sourceCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "source",
		Short: "Print the folder with the kernel's checkpatch, kernel-doc and YNL",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := openProject()
			if err != nil {
				return err
			}
			dir, err := p.Source(cmd.Context(), o.cfg.Kernel)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), dir)
			}
			return err
		},
	}
}
