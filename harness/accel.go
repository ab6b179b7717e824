package harness

// This file owns finding out whether KVM works on this host.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// probeTime is for a kernel's first line under KVM, which takes well under a
// second where KVM works.
const probeTime = 15 * time.Second

// accel is the accelerator of a run.
func (f *Fetcher) accel(ctx context.Context, k Kernel, c Config) (Accel, error) {
	switch {
	case c.ICount:
		return ICount, nil
	case c.Accel == KVM || c.Accel == TCG:
		return c.Accel, nil
	case c.Accel != "":
		return "", fmt.Errorf("unknown accelerator %q", c.Accel)
	}
	dev, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return TCG, nil
	}
	dev.Close()
	return f.probedAccel(ctx, k)
}

// probedAccel tries KVM once per boot of the host. A /dev/kvm that opens is
// not enough: under some hypervisors it is there and no guest gets anywhere.
func (f *Fetcher) probedAccel(ctx context.Context, k Kernel) (Accel, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("probe KVM: %w", err)
	}
	key := filepath.Join("accel", strings.TrimSpace(string(boot)))
	dir, err := f.Cache.Ensure(ctx, key, func(dir string) error {
		answer := KVM
		if err := probeKVM(ctx, k); err != nil {
			if ctx.Err() != nil {
				return err
			}
			f.say("KVM does not work on this host (%v); emulating", firstLine(err))
			answer = TCG
		}
		return os.WriteFile(filepath.Join(dir, "answer"), []byte(answer), 0o644)
	})
	if err != nil {
		return "", err
	}
	answer, err := fs.ReadFile(os.DirFS(dir), "answer")
	return Accel(answer), err
}

// probeKVM boots a kernel under KVM, to its panic for want of a root. Its exit
// by -no-reboot is what says that it got there.
func probeKVM(ctx context.Context, k Kernel) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, errors.New("no sign of life"))
	defer cancel()
	args := qemuArgs(machine{accel: KVM, smp: 1, memory: 512, kernel: k.Image()})
	args = append(args, "-serial", "stdio")
	out, err := run(ctx, "", append([]string{qemuProgram}, args...)...)
	if err != nil {
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		return err
	}
	if !strings.Contains(out, "Kernel panic") {
		return errors.New("the kernel did not start")
	}
	return nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
