// This file owns the C side: it runs the kernel's own generator on a private
// copy of the few files it needs.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ynlTimeout bounds one run of the generator. A run takes about a second; but
// the program looks upward for the top of a kernel tree and, when there is
// none, never stops looking.
const ynlTimeout = time.Minute

// specDir is where the generator expects specs. The path is part of its output.
const specDir = "Documentation/netlink/specs"

// cFile is one file that the generator makes of a spec.
type cFile struct {
	path string
	args []string
}

// cFilesOf lists what is made for one family.
func cFilesOf(name string) []cFile {
	return []cFile{
		{"kmod/uapi/linux/" + name + ".h", []string{"--mode", "uapi", "--header"}},
		{"kmod/gen/" + name + "-nl.h", []string{"--mode", "kernel", "--header"}},
		{"kmod/gen/" + name + "-nl.c", []string{"--mode", "kernel", "--source"}},
	}
}

// cFiles makes the C of every family with the generator found in source.
func cFiles(ctx context.Context, source string) (files []output, err error) {
	tree, err := os.MkdirTemp("", "rxpost-gen-")
	if err != nil {
		return nil, fmt.Errorf("make a private kernel tree: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tree)) }()
	if err := fillTree(tree, source); err != nil {
		return nil, err
	}
	for _, f := range families() {
		for _, c := range cFilesOf(f.name) {
			data, err := runYNL(ctx, tree, f.name, c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.path, err)
			}
			files = append(files, output{path: filepath.FromSlash(c.path), data: data})
		}
	}
	return files, nil
}

// fillTree copies the generator, the schemas and our specs into tree, with the
// file by which the generator knows the top. The kernel source may be a shared
// cache, so nothing is written into it.
func fillTree(tree, source string) error {
	for _, dir := range []string{"tools/net/ynl", "Documentation/netlink"} {
		to := filepath.Join(tree, dir)
		if err := os.CopyFS(to, os.DirFS(filepath.Join(source, dir))); err != nil {
			return fmt.Errorf("copy %s out of the kernel source: %w", dir, err)
		}
	}
	if err := os.WriteFile(filepath.Join(tree, "MAINTAINERS"), nil, 0o644); err != nil {
		return err
	}
	for _, f := range families() {
		text, err := os.ReadFile(specPath(f.name))
		if err != nil {
			return fmt.Errorf("read spec: %w", err)
		}
		to := filepath.Join(tree, specDir, f.name+".yaml")
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// runYNL runs the generator once, in tree, and returns what it made. The base
// name of the output matters: a source includes the header of its own name.
func runYNL(ctx context.Context, tree, name string, c cFile) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, ynlTimeout)
	defer cancel()
	out := filepath.Join(tree, filepath.Base(c.path))
	args := append([]string{"tools/net/ynl/ynl-gen-c.py"}, c.args...)
	args = append(args, "--spec", specDir+"/"+name+".yaml", "-o", out)
	cmd := exec.CommandContext(ctx, "python3", args...)
	cmd.Dir = tree
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ynl-gen-c.py was stopped: %w", ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("ynl-gen-c.py: %w\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("ynl-gen-c.py made nothing: %w", err)
	}
	return data, os.Remove(out)
}
