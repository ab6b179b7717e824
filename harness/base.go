package harness

// This file owns the part of the initramfs that every run on a kernel shares:
// busybox, modprobe and the modules. It is cached as one cpio file.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// baseFile is the archive's name in its cache entry.
const baseFile = "base.cpio"

// Base returns the shared part of the initramfs for a kernel, with the
// modules of the build in built ("" for none).
func (f *Fetcher) Base(ctx context.Context, root string, k Kernel, built string) (string, error) {
	list := filepath.Join(root, "vm", "modules.txt")
	text, err := os.ReadFile(list)
	if err != nil {
		return "", fmt.Errorf("modules: %w", err)
	}
	mods, err := ParseModules(string(text))
	if err != nil {
		return "", err
	}
	tools, err := findTools()
	if err != nil {
		return "", err
	}
	sum, err := hashFiles(root, []string{"vm/modules.txt"}, k.id(), filepath.Base(built), tools.stamp, baseLayout)
	if err != nil {
		return "", err
	}
	dir, err := f.Cache.Ensure(ctx, filepath.Join("initramfs", sum), func(dir string) error {
		f.say("preparing the initramfs for %s", k.Release)
		return writeBase(ctx, k, mods, built, tools, dir)
	})
	return filepath.Join(dir, baseFile), err
}

// baseLayout changes when this code puts something else into the archive.
const baseLayout = "2"

// hostTools are the host's programs that go into every guest.
type hostTools struct {
	busybox, kmod string
	stamp         string // another one when they were updated
}

func findTools() (hostTools, error) {
	var t hostTools
	for name, at := range map[string]*string{"busybox": &t.busybox, "kmod": &t.kmod} {
		path, err := exec.LookPath(name)
		if err != nil {
			return t, fmt.Errorf("initramfs: %w; make deps installs it", err)
		}
		*at = path
	}
	for _, path := range []string{t.busybox, t.kmod} {
		fi, err := os.Stat(path)
		if err != nil {
			return t, fmt.Errorf("initramfs: %w", err)
		}
		t.stamp += fi.ModTime().String()
	}
	return t, nil
}

func writeBase(ctx context.Context, k Kernel, mods []Module, built string, tools hostTools, dir string) error {
	stage := filepath.Join(dir, "stage")
	defer os.RemoveAll(stage)
	modDir := filepath.Join(stage, "lib", "modules", k.Release)
	if err := stageModules(ctx, k, mods, modDir); err != nil {
		return err
	}
	if err := stageBuilt(ctx, built, filepath.Join(modDir, "updates")); err != nil {
		return err
	}
	if err := runDepmod(ctx, k, stage, modDir); err != nil {
		return err
	}
	a := newArchive()
	if err := a.tree("/lib/modules/"+k.Release, modDir); err != nil {
		return err
	}
	if err := addBusybox(ctx, a, tools.busybox); err != nil {
		return err
	}
	if err := addModprobe(a, tools.kmod); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, baseFile))
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	defer out.Close()
	if err := a.writeTo(out); err != nil {
		return err
	}
	return out.Close()
}

// stageBuilt copies the project's modules, without the debug sections, which
// are most of their size.
func stageBuilt(ctx context.Context, built, dir string) error {
	if built == "" {
		return nil
	}
	files, err := builtModules(built)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	for _, f := range files {
		if _, err := run(ctx, dir, "strip", "--strip-debug", "-o", filepath.Join(dir, filepath.Base(f)), f); err != nil {
			return err
		}
	}
	return nil
}

// runDepmod writes modules.dep and its relatives for the staged modules.
func runDepmod(ctx context.Context, k Kernel, stage, modDir string) error {
	for _, name := range []string{"modules.builtin", "modules.order"} {
		if err := copyFile(filepath.Join(k.Modules(), name), filepath.Join(modDir, name)); err != nil {
			return err
		}
	}
	depmod, err := exec.LookPath("depmod")
	if err != nil {
		// Not on the PATH of an ordinary user.
		depmod = "/sbin/depmod"
	}
	_, err = run(ctx, stage, depmod, "-b", stage, k.Release)
	return err
}

// addBusybox adds busybox and a link for each applet it has.
func addBusybox(ctx context.Context, a *archive, busybox string) error {
	if err := a.file("/bin/busybox", busybox); err != nil {
		return err
	}
	list, err := run(ctx, "", busybox, "--list-full")
	if err != nil {
		return err
	}
	for _, p := range strings.Fields(list) {
		if clean(p) != "usr/bin/busybox" {
			a.symlink(p, "/bin/busybox")
		}
	}
	return nil
}

// addModprobe adds what the kernel calls when it wants a module: the modprobe
// that hosts have, for it has ideas of its own of what modprobe.d means.
func addModprobe(a *archive, kmod string) error {
	p, err := newPayload()
	if err != nil {
		return err
	}
	p.archive = a
	if err := p.program("/bin/kmod", kmod); err != nil {
		return err
	}
	a.symlink("/sbin/modprobe", "/bin/kmod")
	return nil
}
