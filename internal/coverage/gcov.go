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

// ours is how names of the modules' own sources begin. Before 6.13 the notes have
// them so; since then make goes into the modules' folder, and the names are
// relative to that. Those of the kernel's headers are absolute, or relative to a
// tree that is not there.
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
		if err := link(sources, into); err != nil {
			return err
		}
		return gcov(ctx, note, into)
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("no notes of a compiler in %s: did rxvm --coverage write there?", dir)
	}
	return err
}

// link puts the sources into the folder, under both of their names: gcov reads
// where it writes.
func link(sources, into string) error {
	if err := os.Symlink(sources, filepath.Join(into, ours)); err != nil {
		return err
	}
	all, err := os.ReadDir(sources)
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := os.Symlink(filepath.Join(sources, f.Name()), filepath.Join(into, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// gcov annotates one note's sources in the folder into, and leaves ours there.
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
	written, err := filepath.Glob(filepath.Join(into, "*.gcov"))
	if err != nil {
		return err
	}
	kept := 0
	for _, f := range written {
		keep, err := keepOurs(f, into, filepath.Base(filepath.Dir(note)))
		if err != nil {
			return err
		}
		if keep {
			kept++
		}
	}
	// What has no functions has no annotations; what a module is described by is
	// generated, and has no source here.
	if len(written) > 0 && kept == 0 && !strings.HasSuffix(note, ".mod.gcno") {
		return fmt.Errorf("gcov: %s names no source of %s", note, ours)
	}
	return nil
}

// sourceLine begins the line of an annotated file that names its source.
const sourceLine = "        -:    0:Source:"

// keepOurs names the source of an annotated file of ours as it is called from the
// top of the repository, and removes a file of others. It returns whether it is
// ours. A module in a folder of its own, sub, is made there.
func keepOurs(annotated, into, sub string) (bool, error) {
	data, err := os.ReadFile(annotated)
	if err != nil {
		return false, err
	}
	head, rest, ok := strings.Cut(string(data), "\n")
	source, named := strings.CutPrefix(head, sourceLine)
	if !ok || !named {
		return false, fmt.Errorf("%s: its first line is %q", annotated, head)
	}
	source = filepath.Clean(source)
	for _, name := range []string{filepath.Join(ours, source), filepath.Join(ours, sub, source)} {
		if _, err := os.Stat(filepath.Join(into, name)); err == nil && !filepath.IsAbs(source) {
			source = name
			break
		}
	}
	if !strings.HasPrefix(source, ours+"/") {
		return false, os.Remove(annotated)
	}
	return true, os.WriteFile(annotated, []byte(sourceLine+source+"\n"+rest), 0o644)
}
