package harness

// This file owns a run's configuration, and turning it into what QEMU and the
// guest get.

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/harness/wire"
)

// Config is one run.
type Config struct {
	Kernel       string // "" is the default kernel
	SMP          int
	Memory       int // MiB; 0 is what the kernel needs
	ICount       bool
	Accel        Accel         // "" is the best that works here
	Append       []string      // kernel arguments
	GDB          string        // where QEMU's debugger stub listens: a port of 127.0.0.1 or a socket's path
	Timeout      time.Duration // of the command; 0 is the default
	Add          []string      // SRC or SRC:DST
	RDMAUserland bool
	Build        Build
	Coverage     string   // folder for what the modules' code counted; "" counts nothing
	Args         []string // the command
	TTY          bool     // give it a terminal

	Stdin   io.Reader // nil is empty
	Stdout  io.Writer
	Stderr  io.Writer
	Console io.Writer        // gets a copy of the console; may be nil
	Signals <-chan os.Signal // delivered to the command; may be nil
	Resizes <-chan wire.Size // of the terminal; may be nil
	Size    wire.Size
}

// Deadlines with KVM; Accel.Scale stretches them.
const (
	bootTime     = 45 * time.Second // from QEMU's start to the command's
	commandTime  = 5 * time.Minute
	powerOffTime = 30 * time.Second // from the command's end to QEMU's
	dumpTime     = 5 * time.Second  // for a hung guest to print its tasks
	testGrace    = 90 * time.Second // beyond a Go test's own time-out
)

// debugTime is every deadline of a VM that a person may have stopped in gdb.
const debugTime = 12 * time.Hour

// limit is a deadline of the machine itself.
func (c Config) limit(accel Accel, d time.Duration) time.Duration {
	if c.GDB != "" {
		return debugTime
	}
	return accel.Scale(d)
}

// plan is a Config made concrete.
type plan struct {
	spec     wire.Spec
	deadline time.Duration
	outputs  map[string]bool // the only host files the guest may write
	outDirs  []string
}

// deadline is the command's time: as asked, or enough for go test to notice
// first that its own time-out passed.
func (c Config) deadline(accel Accel, test time.Duration) time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	d := c.limit(accel, commandTime)
	if test > 0 {
		d = max(d, test+testGrace)
	}
	return d
}

// usualMemory is a guest's, in MiB, unless its kernel needs more.
const usualMemory = 1024

// memory is the guest's, in MiB.
func (c Config) memory(k Kernel) int {
	if c.Memory > 0 {
		return c.Memory
	}
	return max(usualMemory, k.Memory)
}

// prepare fills p with all the run needs and returns the plan.
func (c Config) prepare(p *payload, root string, k Kernel, accel Accel) (*plan, error) {
	args, err := p.command(c.Args)
	if err != nil {
		return nil, err
	}
	pl := &plan{outputs: map[string]bool{}, spec: wire.Spec{
		Args: args, Dir: "/root", TTY: c.TTY, Size: c.Size, Env: c.env(k), CPUs: c.SMP,
	}}
	test, err := c.prepareTest(p, pl)
	if err != nil {
		return nil, err
	}
	pl.deadline = c.deadline(accel, test)
	for _, a := range c.Add {
		if err := p.add(a); err != nil {
			return nil, err
		}
	}
	if c.RDMAUserland {
		if err := p.rdmaUserland(); err != nil {
			return nil, err
		}
	}
	if c.GDB != "" {
		if err := p.gdbSymbols(root); err != nil {
			return nil, err
		}
	}
	if pl.spec.Modules, err = c.boot(root, k); err != nil {
		return nil, err
	}
	return pl, nil
}

// prepareTest does what a Go test binary needs, if that is the command, and
// returns its time-out.
func (c Config) prepareTest(p *payload, pl *plan) (time.Duration, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return 0, fmt.Errorf("working directory: %w", err)
	}
	t, ok := parseGoTest(pl.spec.Args, cwd)
	if !ok {
		return 0, nil
	}
	left, err := p.packageDir(cwd)
	if err != nil {
		return 0, err
	}
	if len(left) > 0 {
		fmt.Fprintf(c.Stderr, "rxvm: too big to travel with the test: %s\n", strings.Join(left, ", "))
	}
	pl.spec.Dir, pl.spec.Mkdirs = cwd, t.mkdirs
	pl.spec.Outputs = append(t.files, t.dirs...)
	for _, f := range t.files {
		pl.outputs[f] = true
	}
	pl.outDirs = t.dirs
	return t.timeout, nil
}

// mayWrite says whether the guest may write the host's file name.
func (pl *plan) mayWrite(name string) bool {
	for _, d := range pl.outDirs {
		if filepath.Dir(name) == filepath.Clean(d) {
			return true
		}
	}
	return pl.outputs[name]
}

// boot lists the modules to load before the command runs, without optional ones
// that this kernel does not have, or has built in.
func (c Config) boot(root string, k Kernel) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "vm", "modules.txt"))
	if err != nil {
		return nil, fmt.Errorf("modules: %w", err)
	}
	mods, err := ParseModules(string(text))
	if err != nil {
		return nil, err
	}
	index, err := moduleIndex(filepath.Join(k.Modules(), "kernel"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range mods {
		if _, ok := index[m.Name]; !ok && m.Optional {
			continue
		}
		if m.Load || m.RDMA && c.RDMAUserland {
			out = append(out, m.Name)
		}
	}
	return out, nil
}

// env is the command's environment: the guest's own, and those of the host's
// variables that steer a Go program or this project's tests.
func (c Config) env(k Kernel) []string {
	env := []string{
		"PATH=/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root", "TMPDIR=/tmp",
		"RXVM=1", "RXVM_KERNEL=" + k.Name,
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "RXPOST_CACHE": // a path of the host
		case name == "GOTRACEBACK", name == "GODEBUG", name == "TERM", strings.HasPrefix(name, "RXPOST_"):
			env = append(env, kv)
		}
	}
	return env
}

// initramfs writes the run's archive into memory that has no name anywhere,
// so that nothing is left behind however the run ends.
func initramfs(base string, p *payload) (*os.File, error) {
	fd, err := unix.MemfdCreate("initramfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("initramfs: %w", err)
	}
	f := os.NewFile(uintptr(fd), "initramfs")
	if err := fillInitramfs(f, base, p); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func fillInitramfs(f *os.File, base string, p *payload) error {
	b, err := os.Open(base)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	defer b.Close()
	if _, err := io.Copy(f, b); err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	return p.archive.writeTo(f)
}

// Run runs the command in a VM and returns its status. The error is a
// *LostError, *DeadlineError or *SplatError when the VM is to blame.
func (f *Fetcher) Run(ctx context.Context, root, self string, c Config) (wire.Status, error) {
	gdb, err := gdbDevice(c.GDB)
	if err != nil {
		return wire.Status{}, err
	}
	k, err := f.Fetch(ctx, c.Kernel)
	if err != nil {
		return wire.Status{}, err
	}
	c.Build.Coverage = c.Coverage != ""
	built, err := f.BuildModules(ctx, root, k, c.Build)
	if err != nil {
		return wire.Status{}, err
	}
	base, err := f.Base(ctx, root, k, built)
	if err != nil {
		return wire.Status{}, err
	}
	p, err := newPayload()
	if err != nil {
		return wire.Status{}, err
	}
	if err := p.archive.file("/init", self); err != nil {
		return wire.Status{}, err
	}
	if err := p.rxctl(self); err != nil {
		return wire.Status{}, err
	}
	accel, err := f.accel(ctx, k, c)
	if err != nil {
		return wire.Status{}, err
	}
	if accel == ICount {
		c.SMP = 1 // only one virtual CPU can have a clock made of instructions
	}
	pl, err := c.prepare(p, root, k, accel)
	if err != nil {
		return wire.Status{}, err
	}
	pl.spec.Env = append(pl.spec.Env, modulesVar+"="+built)
	if err := c.prepareCoverage(pl, built, f.workDir(root, k, c.Build)); err != nil {
		return wire.Status{}, err
	}
	if err := p.spec(pl.spec); err != nil {
		return wire.Status{}, err
	}
	initrd, err := initramfs(base, p)
	if err != nil {
		return wire.Status{}, err
	}
	defer initrd.Close()
	m := machine{accel: accel, smp: c.SMP, memory: c.memory(k), kernel: k.Image(), kargs: append(k.args(), c.Append...), gdb: gdb}
	return runVM(ctx, m, initrd, pl, c)
}
