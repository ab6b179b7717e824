package main

// This file owns the command that runs another one in a VM, and the flags all
// commands share.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rxpost/rxpost/harness"
)

const rootLong = `rxvm boots a Debian kernel in QEMU with the project's modules and soft RDMA
devices, runs CMD there and exits with its status.

CMD is a program of the guest (busybox's, or rxctl) or a file of this host,
which travels with the libraries it needs. A Go test binary also gets its
package's folder as working directory, and its profiles come back:

  go test -exec "rxvm --kernel 6.1" -count=1 -p 1 ./e2e

Exit status: CMD's own, or
  240  the VM ended without CMD's status
  241  CMD did not end in time
  242  the kernel complained on its console
  243  rxvm could not do its part
  130  interrupted`

// options is what the flags fill.
type options struct {
	cfg     harness.Config
	console bool
}

func rootCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "rxvm [flags] [--] CMD [ARG...]",
		Short:         "Run a command in a VM with soft RDMA",
		Long:          rootLong,
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command to run; see rxvm --help")
			}
			o.cfg.Args = args
			o.cfg.Stdin = os.Stdin
			return o.run(cmd.Context())
		},
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.Flags().SetInterspersed(false)
	cmd.PersistentFlags().StringVar(&o.cfg.Kernel, "kernel", "", "kernel, as vm/kernels.json names it")
	cmd.PersistentFlags().BoolVarP(&o.cfg.Build.Warnings, "warnings", "W", false, "build the modules with W=1")
	cmd.PersistentFlags().StringVar(&o.cfg.Build.Defect, "defect", "", "plant a defect of kmod/test/defects in the modules")
	o.vmFlags(cmd)
	cmd.AddCommand(shellCommand(o), kernelsCommand(), buildCommand(o), sourceCommand(o), headersCommand(o), pruneCommand())
	return cmd
}

// vmFlags adds the flags of a command that boots a VM.
func (o *options) vmFlags(cmd *cobra.Command) {
	f, c := cmd.Flags(), &o.cfg
	f.IntVar(&c.SMP, "smp", 2, "virtual CPUs")
	f.IntVar(&c.Memory, "memory", 0, "memory in MiB; 0 is what the kernel needs")
	f.BoolVar(&c.ICount, "icount", false, "a clock that counts instructions: slow, repeatable, one CPU")
	f.StringVar((*string)(&c.Accel), "accel", "", "kvm or tcg (default: kvm where it works)")
	f.StringArrayVar(&c.Append, "append", nil, "kernel arguments")
	f.StringVar(&c.GDB, "gdb", "", "let gdb attach: a port of 127.0.0.1, or a socket's path; no deadlines then")
	f.DurationVar(&c.Timeout, "timeout", 0, "time for CMD (default 5m, longer without KVM)")
	f.StringArrayVar(&c.Add, "add", nil, "take along SRC[:DST]: a folder, or a file with its libraries")
	f.BoolVar(&c.RDMAUserland, "add-rdma-userland", false, "take along what libibverbs opens, and load the verbs modules")
	f.BoolVar(&o.console, "console", false, "copy the guest's console to stderr")
}

// project is what every command works on.
type project struct {
	*harness.Fetcher
	root string
}

func openProject() (*project, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	root, err := harness.Root(cwd)
	if err != nil {
		return nil, err
	}
	kernels, err := harness.ReadKernels(root)
	if err != nil {
		return nil, err
	}
	cache, err := harness.OpenCache()
	if err != nil {
		return nil, err
	}
	p := &project{&harness.Fetcher{Cache: cache, Kernels: kernels, Progress: os.Stderr}, root}
	if err := p.Tidy(); err != nil {
		// Whatever is wrong with what nobody uses, the work can go on.
		fmt.Fprintln(os.Stderr, "rxvm: tidy up the cache:", err)
	}
	return p, nil
}

// run runs the configured command. SIGQUIT is the command's: go test sends it
// to see where a test hangs.
func (o *options) run(ctx context.Context) error {
	p, err := openProject()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o.cfg.Stdout, o.cfg.Stderr = os.Stdout, os.Stderr
	if o.console {
		o.cfg.Console = os.Stderr
	}
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	defer signal.Stop(quit)
	o.cfg.Signals = quit
	status, err := p.Run(ctx, p.root, self, o.cfg)
	if err != nil {
		return err
	}
	if code := status.ExitCode(); code != 0 {
		return statusError(code)
	}
	return nil
}
