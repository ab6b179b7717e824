package main

// This file owns running gcov, which puts the compiler's notes and the kernel's
// counts together.

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ours is how names of the modules' own sources begin in the notes. Those of the
// kernel's headers are relative to a tree that is not there.
const ours = "kmod"

// annotate has gcov annotate the sources of each note under dir, in a folder of
// its own under out: what several objects include, each of them annotates.
func annotate(ctx context.Context, dir, out string) error {
	sources, err := filepath.Abs(ours)
	if err != nil {
		return err
	}
	n := 0
	err = filepath.WalkDir(dir, func(note string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(note) != ".gcno" {
			return err
		}
		n++
		into := filepath.Join(out, strconv.Itoa(n))
		if err := os.MkdirAll(into, 0o755); err != nil {
			return err
		}
		// gcov reads sources where it writes.
		if err := os.Symlink(sources, filepath.Join(into, ours)); err != nil {
			return err
		}
		return gcov(ctx, note, into)
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("no notes of a compiler in %s: did rxvm --coverage write there?", dir)
	}
	return err
}

// gcov annotates one note's sources in the folder into.
func gcov(ctx context.Context, note, into string) error {
	note, err := filepath.Abs(note)
	if err != nil {
		return err
	}
	// An object without counts was never loaded: nothing of it was executed.
	cmd := exec.CommandContext(ctx, "gcov", "--branch-probabilities", "--branch-counts", "--preserve-paths",
		"--object-directory", filepath.Dir(note), note)
	cmd.Dir = into
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gcov: %w\n%s", err, msg)
	}
	written, err := os.ReadDir(into)
	if err != nil {
		return err
	}
	for _, f := range written {
		// gcov writes # for /.
		if f.Name() == ours || strings.HasPrefix(f.Name(), ours+"#") {
			continue
		}
		if err := os.Remove(filepath.Join(into, f.Name())); err != nil {
			return err
		}
	}
	return nil
}
