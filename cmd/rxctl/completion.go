// This file owns `rxctl completion`: the scripts that make a shell ask rxctl.

package main

import "github.com/spf13/cobra"

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the script that completes rxctl's command lines",
		Long: `Print the script that lets the Tab key complete rxctl's commands, flags and the
names of what exists: receivers, devices, addresses. It never loads a module.

  bash  . <(rxctl completion bash), in ~/.bashrc; wants bash-completion
  zsh   rxctl completion zsh > "${fpath[1]}/_rxctl"
  fish  rxctl completion fish > ~/.config/fish/completions/rxctl.fish`,
		Args:              oneArg("shell"),
		ValidArgsFunction: onlyArg(completeWords("bash", "zsh", "fish")),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return usagef("rxctl completion %q: want bash, zsh or fish", args[0])
		},
	}
}
