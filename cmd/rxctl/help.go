// This file owns `rxctl help`.

package main

import "github.com/spf13/cobra"

// helpCommand replaces cobra's, which takes an unknown command for a good one.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND...]",
		Short:             "Explain a command",
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return usagef("%s has no command %q to explain", about.CommandPath(), rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// completeCommands offers the commands below the one that args name.
func completeCommands(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	about, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return commandNames(about), cobra.ShellCompDirectiveNoFileComp
}
