package harness

// This file owns the working copies that modules are built in. They stay, so
// that make builds only what has changed; finished builds are copied out.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unfinished is there while make runs. A copy found with it was left by a
// build that was killed, and may hold half an object file that looks new.
const unfinished = ".unfinished"

// buildIn builds the sources in the working copy work, which one process has
// at a time, and copies the results to out.
func (f *Fetcher) buildIn(ctx context.Context, j buildJob, key, out string) error {
	lock, err := f.lock(ctx, key)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	work := f.Cache.Path(key)
	mark := filepath.Join(work, unfinished)
	if exists(mark) {
		if err := os.RemoveAll(work); err != nil {
			return fmt.Errorf("kmod: %w", err)
		}
	}
	if err := syncSources(j.src, j.files, work); err != nil {
		return err
	}
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return fmt.Errorf("kmod: %w", err)
	}
	// Its age counts from here.
	if err := touch(work); err != nil {
		return err
	}
	err = j.make(ctx, lock, work)
	if ctx.Err() != nil {
		return err
	}
	// Make has ended by itself, and removes what it could not finish.
	if err := errors.Join(err, os.Remove(mark)); err != nil {
		return err
	}
	if j.Coverage {
		if err := copyNotes(work, out); err != nil {
			return err
		}
	}
	return copyResults(work, j.dirs, out)
}

// syncSources makes the sources in work the same as those in src. A file that
// is the same already keeps its time, which is what make goes by.
func syncSources(src string, files []string, work string) error {
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("kmod: %w", err)
	}
	old, err := sourceFiles(work)
	if err != nil {
		return err
	}
	for _, name := range old {
		if !slices.Contains(files, name) {
			if err := os.Remove(filepath.Join(work, name)); err != nil {
				return fmt.Errorf("kmod: %w", err)
			}
		}
	}
	for _, name := range files {
		want, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			return fmt.Errorf("kmod: %w", err)
		}
		dst := filepath.Join(work, name)
		if have, err := os.ReadFile(dst); err == nil && bytes.Equal(have, want) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return fmt.Errorf("kmod: %w", err)
		}
		if err := os.WriteFile(dst, want, 0o644); err != nil {
			return fmt.Errorf("kmod: %w", err)
		}
	}
	return nil
}

// copyResults copies the modules of the folders dirs to out. A module whose
// source is gone is still in the working copy, but not in modules.order.
func copyResults(work string, dirs []string, out string) error {
	for _, d := range dirs {
		order, err := os.ReadFile(filepath.Join(work, d, "modules.order"))
		if err != nil {
			return fmt.Errorf("kmod: %w", err)
		}
		for line := range bytes.FieldsSeq(order) {
			name := orderedModule(string(line), filepath.Join(work, d))
			if err := copyFile(filepath.Join(work, d, name), filepath.Join(out, d, name)); err != nil {
				return err
			}
		}
	}
	sym := filepath.Join(work, "Module.symvers")
	if err := copyFile(sym, filepath.Join(out, "Module.symvers")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// orderedModule is the module that a line of modules.order in dir stands for,
// relative to dir. Older kernels list modules, newer ones their objects.
func orderedModule(line, dir string) string {
	name := strings.TrimPrefix(line, dir+"/")
	return strings.TrimSuffix(name, filepath.Ext(name)) + ".ko"
}
