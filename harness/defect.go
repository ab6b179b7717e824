package harness

// This file owns planted defects: small patches to the modules' source, each the
// kind of fault that one of the tests' oracles is there to notice. What is built
// with one is for the test of that oracle and goes nowhere else: the patch is
// applied to a copy, and the build has a working copy and cache entries of its
// own.

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// defectsDir is where the patches are, under kmod/.
const defectsDir = "test/defects"

// Defects lists the defects that can be planted.
func Defects(root string) ([]string, error) {
	return defectsIn(filepath.Join(root, "kmod"))
}

func defectsIn(tree string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(tree, defectsDir, "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("defects: %w", err)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(filepath.Base(f), ".patch")
	}
	return names, nil
}

// UnknownDefectError means that no patch has that name.
type UnknownDefectError struct {
	Name  string
	Known []string
}

func (e *UnknownDefectError) Error() string {
	return fmt.Sprintf("unknown defect %q; there are %s", e.Name, strings.Join(e.Known, ", "))
}

// plantDefect copies the sources in tree and applies the patch called name to
// the copy, which remove removes. A patch that does not fit exactly is an error.
func (f *Fetcher) plantDefect(ctx context.Context, tree, name string) (dir string, remove func(), err error) {
	known, err := defectsIn(tree)
	if err != nil {
		return "", nil, err
	}
	if !slices.Contains(known, name) {
		return "", nil, &UnknownDefectError{Name: name, Known: known}
	}
	f.say("planting defect %s in the modules: for the test of an oracle only", name)
	files, err := sourceFiles(tree)
	if err != nil {
		return "", nil, err
	}
	dir, remove, err = f.Cache.scratch("defect-")
	if err != nil {
		return "", nil, err
	}
	err = syncSources(tree, files, dir)
	if err == nil {
		err = applyPatch(ctx, dir, filepath.Join(tree, defectsDir, name+".patch"))
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("defect %s: %w", name, err)
	}
	return dir, remove, nil
}

// applyPatch applies a patch to the sources in dir, whose names in it begin with
// kmod/. Its lines may have moved, but must be there as they are in it.
func applyPatch(ctx context.Context, dir, patch string) error {
	_, err := run(ctx, dir, "patch", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch",
		"-p2", "-i", patch)
	return err
}
