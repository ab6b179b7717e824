package harness

// This file owns the list of kernels, the lock file that pins their packages,
// and how a lock entry is resolved.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KernelSpec is an entry of vm/kernels.json: a series, and the packages of the
// distribution that always point at its newest version; or a kernel that is
// built here, from a source package and options.
type KernelSpec struct {
	Name    string   `json:"name"`
	Default bool     `json:"default,omitempty"`
	Suites  []string `json:"suites"`
	Image   string   `json:"image,omitempty"`
	Headers string   `json:"headers,omitempty"`
	Source  string   `json:"source,omitempty"`
	Config  []string `json:"config,omitempty"` // names of vm/config/*.config, if it is built here
	Memory  int      `json:"memory,omitempty"` // MiB that a guest needs, if it is more than usual
}

// Built says whether the kernel is built here.
func (s KernelSpec) Built() bool { return len(s.Config) > 0 }

// KernelLock pins one kernel: its release and the exact packages.
type KernelLock struct {
	Release  string   `json:"release,omitempty"`
	Version  string   `json:"version"`
	Packages []string `json:"packages,omitempty"` // name=version: image, headers, kbuild
	Source   string   `json:"source,omitempty"`
}

// UnknownKernelError means that vm/kernels.json has no such name.
type UnknownKernelError struct {
	Name  string
	Known []string
}

func (e *UnknownKernelError) Error() string {
	return fmt.Sprintf("unknown kernel %q; there are %s", e.Name, strings.Join(e.Known, ", "))
}

// Kernels is the list with its lock file.
type Kernels struct {
	Specs []KernelSpec
	Locks map[string]KernelLock
	dir   string // vm/
	lock  string // file name
}

// ReadKernels reads vm/kernels.json and vm/kernels.lock.json under root.
func ReadKernels(root string) (*Kernels, error) {
	dir := filepath.Join(root, "vm")
	k := &Kernels{Locks: map[string]KernelLock{}, dir: dir, lock: filepath.Join(dir, "kernels.lock.json")}
	if err := readJSON(filepath.Join(dir, "kernels.json"), &k.Specs); err != nil {
		return nil, err
	}
	if err := readJSON(k.lock, &k.Locks); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return k, nil
}

func readJSON(name string, v any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("kernels: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("kernels: %s: %w", filepath.Base(name), err)
	}
	return nil
}

// Spec returns the entry called name; the empty name is the default's.
func (k *Kernels) Spec(name string) (KernelSpec, error) {
	var known []string
	for _, s := range k.Specs {
		if s.Name == name || name == "" && s.Default {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return KernelSpec{}, &UnknownKernelError{Name: name, Known: known}
}

// WriteLock writes the lock file, whole or not at all.
func (k *Kernels) WriteLock() error {
	data, err := json.MarshalIndent(k.Locks, "", "  ")
	if err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	tmp := k.lock + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	if err := os.Rename(tmp, k.lock); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	return nil
}

// resolve finds the newest packages of a kernel.
func resolve(ctx context.Context, a *apt, s KernelSpec) (lock KernelLock, err error) {
	if !s.Built() {
		if lock, err = resolveImage(ctx, a, s); err != nil {
			return KernelLock{}, err
		}
	}
	if s.Source == "" {
		return lock, nil
	}
	src, ok, err := a.show(ctx, s.Source)
	if err != nil {
		return KernelLock{}, err
	}
	if !ok {
		return KernelLock{}, fmt.Errorf("no package %s in the archive", s.Source)
	}
	lock.Source = pin(src)
	if s.Built() {
		lock.Version = src["Version"]
	}
	return lock, nil
}

// resolveImage finds the newest packages of a series: the meta packages name
// the image and the headers, and those name the rest.
func resolveImage(ctx context.Context, a *apt, s KernelSpec) (KernelLock, error) {
	image, err := follow(ctx, a, s.Image, "linux-image-")
	if err != nil {
		return KernelLock{}, err
	}
	headers, err := follow(ctx, a, s.Headers, "linux-headers-")
	if err != nil {
		return KernelLock{}, err
	}
	lock := KernelLock{
		Release: strings.TrimPrefix(image["Package"], "linux-image-"),
		Version: image["Version"],
	}
	if r := strings.TrimPrefix(headers["Package"], "linux-headers-"); r != lock.Release {
		return KernelLock{}, fmt.Errorf("image is %s, headers are %s", lock.Release, r)
	}
	lock.Packages = []string{pin(image), pin(headers)}
	for _, prefix := range []string{"linux-headers-", "linux-kbuild-"} {
		p, err := follow(ctx, a, headers["Package"], prefix)
		if err != nil {
			return KernelLock{}, err
		}
		lock.Packages = append(lock.Packages, pin(p))
	}
	return lock, nil
}

// follow returns the first dependency of pkg whose name has the prefix.
func follow(ctx context.Context, a *apt, pkg, prefix string) (map[string]string, error) {
	fields, ok, err := a.show(ctx, pkg)
	if err != nil {
		return nil, err
	}
	for _, d := range depends(fields) {
		if !ok || !strings.HasPrefix(d, prefix) {
			continue
		}
		f, found, err := a.show(ctx, d)
		if err != nil {
			return nil, err
		}
		if found {
			return f, nil
		}
	}
	return nil, fmt.Errorf("package %s: no dependency %s* in the archive", pkg, prefix)
}

func pin(fields map[string]string) string { return fields["Package"] + "=" + fields["Version"] }
