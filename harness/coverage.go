package harness

// This file owns what a run needs that counts which lines and branches of the
// modules it executes: how they are built, and how the counts get out.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rxpost/rxpost/harness/wire"
)

// The compiler writes notes beside each object, and the kernel has the counts
// that belong to them under the same name.
const (
	notesExt  = ".gcno"
	countsExt = ".gcda"
)

// cflags are the compiler's options of a build.
func (b Build) cflags() string {
	if !b.Coverage {
		return ""
	}
	// Pollers and workers count at once, and a branch that is computed from
	// counts that got lost may come out below zero.
	return " -fprofile-update=atomic"
}

// coverageVars has the kernel's makefiles count in these modules. What the
// sanitizers add are branches that nobody wrote.
func coverageVars() []string {
	return []string{"GCOV_PROFILE=y", "KASAN_SANITIZE=n", "UBSAN_SANITIZE=n", "KCSAN_SANITIZE=n"}
}

// copyNotes copies the compiler's notes from the working copy to out.
func copyNotes(work, out string) error {
	notes, err := notesIn(work)
	if err != nil {
		return err
	}
	copied := 0
	for _, n := range notes {
		// A source that is gone has its objects there still.
		if !exists(filepath.Join(work, strings.TrimSuffix(n, notesExt)+".c")) {
			continue
		}
		if err := copyFile(filepath.Join(work, n), filepath.Join(out, n)); err != nil {
			return err
		}
		copied++
	}
	if copied == 0 {
		return errors.New("coverage: the compiler left no notes; the kernel must have CONFIG_GCOV_KERNEL, as debug and next have")
	}
	return nil
}

// notesIn lists the notes under dir, relative to it.
func notesIn(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil && d.Type().IsRegular() && filepath.Ext(p) == notesExt {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("coverage: %w", err)
	}
	return out, nil
}

// emptyCoverage removes the notes and counts of an older build, which would not fit
// these. A folder in which there is anything else is somebody's, and stays.
func emptyCoverage(dir string) error {
	var old []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ext := filepath.Ext(p); ext != notesExt && ext != countsExt {
			return fmt.Errorf("%s is not of a coverage run: name an empty folder, or one that does not exist", p)
		}
		old = append(old, p)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("coverage: %w", err)
	}
	for _, p := range old {
		if err := os.Remove(p); err != nil {
			return fmt.Errorf("coverage: %w", err)
		}
	}
	return nil
}

// prepareCoverage puts the notes of a build into the folder that the counts are
// to come to, and has the guest send those. Objects is where the build's were.
func (c Config) prepareCoverage(pl *plan, built, objects string) error {
	if c.Coverage == "" {
		return nil
	}
	dir, err := filepath.Abs(c.Coverage)
	if err != nil {
		return fmt.Errorf("coverage: %w", err)
	}
	if err := emptyCoverage(dir); err != nil {
		return err
	}
	notes, err := notesIn(built)
	if err != nil {
		return err
	}
	for _, n := range notes {
		if err := copyFile(filepath.Join(built, n), filepath.Join(dir, n)); err != nil {
			return err
		}
		pl.outputs[filepath.Join(dir, strings.TrimSuffix(n, notesExt)+countsExt)] = true
	}
	pl.spec.Coverage = &wire.Coverage{Objects: objects, Dir: dir}
	return nil
}
