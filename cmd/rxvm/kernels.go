package main

// This file owns the commands about kernels: fetch, build, and where things
// are.

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rxpost/rxpost/harness"
)

func kernelsCommand() *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Fetch the locked kernels, or lock the newest",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := openProject()
			if err != nil {
				return err
			}
			if update {
				if err := p.Update(cmd.Context()); err != nil {
					return err
				}
			}
			for _, s := range p.Kernels.Specs {
				if s.Built() {
					fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\tbuilt when it is first used\n", s.Name, p.Kernels.Locks[s.Name].Source)
					continue
				}
				k, err := p.Fetch(cmd.Context(), s.Name)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", k.Name, k.Release, k.Version)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write the newest versions into vm/kernels.lock.json")
	return cmd
}

// withKernel is the body of a command that needs one kernel and prints a path.
func withKernel(o *options, path func(*cobra.Command, *project, harness.Kernel) (string, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		p, err := openProject()
		if err != nil {
			return err
		}
		k, err := p.Fetch(cmd.Context(), o.cfg.Kernel)
		if err != nil {
			return err
		}
		out, err := path(cmd, p, k)
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), out)
		}
		return err
	}
}

func buildCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the modules and print the folder they are in",
		Args:  cobra.NoArgs,
		RunE: withKernel(o, func(cmd *cobra.Command, p *project, k harness.Kernel) (string, error) {
			dir, err := p.BuildModules(cmd.Context(), p.root, k, o.cfg.Build)
			if err == nil && dir == "" {
				err = fmt.Errorf("nothing to build: no Kbuild in kmod")
			}
			return dir, err
		}),
	}
}

func headersCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "headers",
		Short: "Print the folder to give to make -C",
		Args:  cobra.NoArgs,
		RunE: withKernel(o, func(_ *cobra.Command, _ *project, k harness.Kernel) (string, error) {
			return k.Headers(), nil
		}),
	}
}
