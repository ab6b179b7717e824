package harness

// This file owns building the project's own modules for a kernel.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Root finds the project: the nearest folder upward from dir with a go.mod.
func Root(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no go.mod in %s or above it", dir)
		}
	}
}

// Build is what to build the modules with.
type Build struct {
	Warnings bool   // W=1
	NoBTF    bool   // leave out the type information that BPF programs need
	Defect   string // plant this one; see defect.go
	Coverage bool   // count what is executed; see coverage.go
}

// buildJob is one build: what, for which kernel, with what.
type buildJob struct {
	Build
	kernel Kernel
	tree   string   // the work tree's kmod/
	src    string   // where the sources are: tree, unless they are changed
	files  []string // under src
	dirs   []string // folders to build
}

// BuildModules builds kmod/ and kmod/test/ for a kernel and returns the folder
// with the modules, which the cache keys by everything that goes into them. It
// returns "" when there is nothing to build.
func (f *Fetcher) BuildModules(ctx context.Context, root string, k Kernel, b Build) (string, error) {
	if _, err := exec.LookPath("pahole"); err != nil {
		// The headers of some kernels bring a vmlinux, and then their
		// makefiles insist on pahole.
		b.NoBTF = true
	}
	tree := filepath.Join(root, "kmod")
	j := buildJob{Build: b, kernel: k, tree: tree, src: tree}
	if b.Defect != "" {
		dir, remove, err := f.plantDefect(ctx, tree, b.Defect)
		if err != nil {
			return "", err
		}
		defer remove()
		j.src = dir
	}
	var err error
	if j.dirs, err = kbuildDirs(j.src); err != nil || len(j.dirs) == 0 {
		return "", err
	}
	if j.files, err = sourceFiles(j.src); err != nil {
		return "", err
	}
	sum, err := hashFiles(j.src, j.files, k.id(), fmt.Sprint(b))
	if err != nil {
		return "", err
	}
	return f.Cache.Ensure(ctx, filepath.Join("kmod", k.id()+b.suffix()+"-"+sum), func(dir string) error {
		if b.NoBTF {
			f.say("no pahole on this host: modules get no BTF")
		}
		f.say("building modules for %s", k.Release)
		return f.buildIn(ctx, j, j.workKey(), dir)
	})
}

// workKey tells working copies apart that must not share objects, or that would
// undo each other's: two work trees of the project have one each.
func (j buildJob) workKey() string {
	tree := sha256.Sum256([]byte(j.tree))
	return filepath.Join("kmod-work", j.kernel.id()+j.suffix()+"-"+hex.EncodeToString(tree[:4]))
}

func (b Build) suffix() string {
	s := ""
	if b.Warnings {
		s += "-W"
	}
	if b.NoBTF {
		s += "-nobtf"
	}
	if b.Defect != "" {
		// One for all of them: they differ in a file or two.
		s += "-defect"
	}
	if b.Coverage {
		s += "-coverage"
	}
	return s
}

// kbuildDirs lists the folders to build, those with a Kbuild of their own.
func kbuildDirs(src string) ([]string, error) {
	var out []string
	for _, d := range []string{".", "test"} {
		_, err := os.Stat(filepath.Join(src, d, "Kbuild"))
		if err == nil {
			out = append(out, d)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("kmod: %w", err)
		}
	}
	return out, nil
}

// userTests is the name of folders whose C is for user space.
const userTests = "user"

// sourceFiles lists the files under src that a build reads: not what an
// in-tree build leaves behind, which must not change the key.
func sourceFiles(src string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == userTests {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(src, p)
		if err == nil && d.Type().IsRegular() && isSource(d.Name()) {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kmod: %w", err)
	}
	slices.Sort(out)
	return out, nil
}

func isSource(name string) bool {
	switch filepath.Ext(name) {
	case ".c", ".h", ".S", ".lds":
		return !strings.HasSuffix(name, ".mod.c")
	}
	return strings.HasPrefix(name, "Kbuild") || strings.HasPrefix(name, "Makefile")
}

// hashFiles is a short digest over files and the words they are built with.
func hashFiles(dir string, files []string, words ...string) (string, error) {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%q\n", w)
	}
	for _, name := range files {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("hash: %w", err)
		}
		fmt.Fprintf(h, "%q\n", name)
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", fmt.Errorf("hash: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// make builds the job's folders in the working copy dir.
func (j buildJob) make(ctx context.Context, lock *Lock, dir string) error {
	for _, d := range j.dirs {
		if _, err := runHolding(ctx, lock, dir, makeArgs(j.kernel, j.Build, dir, d)...); err != nil {
			return err
		}
	}
	return nil
}

// makeArgs is the command line to build the folder sub of the copy in dir.
func makeArgs(k Kernel, b Build, dir, sub string) []string {
	args := []string{
		"make", "-s", "-j2", "-C", k.Headers(), "M=" + filepath.Join(dir, sub), "modules",
		// The kernel's messages name files as the project does, not by
		// where the cache was.
		"KCFLAGS=-ffile-prefix-map=" + dir + "/=kmod/",
	}
	if b.Warnings {
		args = append(args, "W=1")
	}
	if b.NoBTF {
		args = append(args, "CONFIG_DEBUG_INFO_BTF_MODULES=")
	}
	// What kmod/ exports is there for the test modules.
	if sym := filepath.Join(dir, "Module.symvers"); sub != "." && exists(sym) {
		args = append(args, "KBUILD_EXTRA_SYMBOLS="+sym)
	}
	return args
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func copyFile(src, dst string) error {
	data, err := os.ReadFile(src)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if err := os.WriteFile(dst, data, 0o644); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

// builtModules lists the .ko files of a build.
func builtModules(dir string) ([]string, error) {
	var out []string
	for _, glob := range []string{"*.ko", "test/*.ko"} {
		m, err := filepath.Glob(filepath.Join(dir, glob))
		if err != nil {
			return nil, fmt.Errorf("kmod: %w", err)
		}
		out = append(out, m...)
	}
	return out, nil
}
