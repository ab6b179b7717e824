package main

// This file owns the proof that the oracles of the end-to-end tests see what they
// are there for: each of testdata/defects plants one fault in the modules, runs
// an ordinary test on the kernel that its folder is named after, and wants that
// to fail in the right words. They run when RXPOST_DEFECTS names the kernel, as
// make defects has it.

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rxpost/rxpost/harness"
)

func TestDefects(t *testing.T) {
	kernel := os.Getenv("RXPOST_DEFECTS")
	if kernel == "" {
		t.Skip("boots VMs on kernels that are built first: set RXPOST_DEFECTS to debug or kcsan, as make defects does")
	}
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	// The scripts run a test, or rxctl, which rxvm takes along from beside itself.
	for _, args := range [][]string{
		{"test", "-c", "-o", filepath.Join(p.bin, "e2e.test"), "./e2e"},
		{"build", "-o", p.bin, "./cmd/rxctl"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = p.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, msg)
		}
	}
	runScriptsOf(t, p, filepath.Join("testdata/defects", kernel), kernel)
}

// A defect without a script proves nothing.
func TestEachDefectHasScript(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err := harness.Root(cwd)
	if err != nil {
		t.Fatal(err)
	}
	defects, err := harness.Defects(root)
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/defects/*/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range scripts {
		scripts[i] = strings.TrimSuffix(filepath.Base(s), ".txt")
	}
	slices.Sort(scripts)
	if diff := cmp.Diff(defects, scripts); diff != "" {
		t.Errorf("defects and scripts (-defects +scripts):\n%s", diff)
	}
}
