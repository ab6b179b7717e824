package harness

// This file owns the part of the kernel's source that lint and the netlink
// generator use.

import (
	"context"
	"fmt"
	"path/filepath"
)

// sourceParts lists what is unpacked of a kernel's source.
func sourceParts() []string {
	return []string{
		"MAINTAINERS", "COPYING", ".clang-format",
		"scripts/checkpatch.pl", "scripts/spelling.txt", "scripts/const_structs.checkpatch",
		"scripts/kernel-doc", "scripts/coccinelle", "scripts/Kbuild.include",
		"tools/net/ynl", "Documentation/netlink", "include/uapi",
	}
}

// Source returns the folder with the source's parts, of the locked version.
func (f *Fetcher) Source(ctx context.Context, name string) (string, error) {
	spec, err := f.Kernels.Spec(name)
	if err != nil {
		return "", err
	}
	if spec.Source == "" {
		return "", fmt.Errorf("kernel %s: vm/kernels.json names no source package", spec.Name)
	}
	lock := f.Kernels.Locks[spec.Name]
	if ok, err := f.Cache.Has(sourceKey(lock)); lock.Source == "" || !ok || err != nil {
		if lock, err = f.available(ctx, spec, func(l KernelLock) []string { return []string{l.Source} }); err != nil {
			return "", fmt.Errorf("source of kernel %s: %w", spec.Name, err)
		}
	}
	dir, err := f.Cache.Ensure(ctx, sourceKey(lock), func(dir string) error {
		f.say("fetching the source of kernel %s (%s)", spec.Name, lock.Version)
		return f.unpackKernelSource(ctx, spec, lock, dir, sourceParts()...)
	})
	if err != nil {
		return "", fmt.Errorf("source of kernel %s: %w", spec.Name, err)
	}
	return dir, nil
}

func sourceKey(lock KernelLock) string { return filepath.Join("source", lock.Version) }
