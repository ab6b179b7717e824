// This file owns the tree of commands and what holds for all of them.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// run carries out one command line and returns the exit status.
func run(ctx context.Context, env *environment, args []string) int {
	out := bufio.NewWriter(env.stdout)
	root := rootCommand(env)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(env.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	// A writer that failed once fails at Flush too: output that got lost is an
	// error even if all else went well.
	if werr := out.Flush(); werr != nil {
		err = errors.Join(err, fmt.Errorf("write output: %w", werr))
	}
	if err != nil {
		report(env.stderr, cmd, err)
	}
	return exitStatus(err)
}

// rootCommand builds the tree.
func rootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "rxctl",
		Short: "Configure and observe the rxpost RDMA receiver",
		Long: `Configure and observe the rxpost RDMA receiver.

Numbers:    sizes take K, M, G for 1024, 1024², 1024³ bytes;
            counts take k, M, G for 1000, 1000², 1000³.
Times:      want a unit: 50us, 10ms, 5s, 1m.
Addresses:  10.9.0.1:7471, [fd00::1]:7471.
Exit:       0 done, 1 failed, 2 usage, 3 not permitted, 4 module not loaded,
            5 no such object.`,
		Args:          noArgs,
		RunE:          wantCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	// No value of ours is a file.
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().BoolVarP(&env.json, "json", "j", false, "print JSON, keys as in the netlink spec")
	root.PersistentFlags().BoolVarP(&env.pretty, "pretty", "p", false, "print indented JSON")
	root.AddCommand(
		group("recv", "Receivers", recvAddCommand(env), recvShowCommand(env), recvSetCommand(env), recvDelCommand(env)),
		group("conn", "Connections", connShowCommand(env)),
		statsCommand(env),
		sendCommand(env),
		group("link", "Soft RDMA devices", linkAddCommand(env), linkShowCommand(env), linkDelCommand(env)),
		monitorCommand(env),
		versionCommand(env),
		completionCommand(),
	)
	return root
}

// group is a command that only holds others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: noArgs, RunE: wantCommand}
	cmd.AddCommand(commands...)
	return cmd
}

// wantCommand answers a group that was called without a command.
func wantCommand(cmd *cobra.Command, _ []string) error {
	return usagef("%s wants a command: %s", cmd.CommandPath(), strings.Join(commandNames(cmd), ", "))
}

// noArgs refuses arguments; on a group, what it refuses is an unknown command.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return usagef("%s has no command %q: want %s", cmd.CommandPath(), args[0], strings.Join(commandNames(cmd), ", "))
	}
	return usagef("%s takes no argument, but got %q", cmd.CommandPath(), args[0])
}

// oneArg wants exactly one argument, called what.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s wants one %s, but got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// maybeArg takes at most one argument, called what.
func maybeArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s takes one %s or none, but got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// commandNames lists the commands of a group.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}
