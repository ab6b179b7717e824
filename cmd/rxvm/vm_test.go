package main

// This file owns the tests that boot VMs: scripts in testdata/each for each
// kernel, and in testdata/once for the default one. They run when RXPOST_VM is
// 1, as make test has it; none of them can skip then.

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rxpost/rxpost/harness"
)

// programs are what the tests run, built from the tree under test.
type programs struct {
	root, bin, rxvm, softlink, waiter string
}

// build builds once for all tests of this process.
var build = sync.OnceValues(func() (programs, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return programs{}, err
	}
	root, err := harness.Root(cwd)
	if err != nil {
		return programs{}, err
	}
	dir, err := os.MkdirTemp("", "rxvm-test-*")
	p := programs{
		root: root, bin: dir, rxvm: filepath.Join(dir, "rxvm"),
		softlink: filepath.Join(dir, "softlink"), waiter: filepath.Join(dir, "waiter"),
	}
	if err != nil {
		return p, err
	}
	for out, pkg := range map[string]string{
		p.rxvm: ".", p.softlink: "./testdata/softlink", p.waiter: "./testdata/waiter",
	} {
		cmd := exec.Command("go", "build", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return p, errors.New(string(msg))
		}
	}
	return p, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("RXPOST_VM") == "1" || os.Getenv("RXPOST_DEFECTS") != "" {
		if p, err := build(); err == nil {
			os.RemoveAll(p.bin)
		}
	}
	os.Exit(code)
}

// vmTest returns the programs, or skips where VMs are not wanted.
func vmTest(t *testing.T) programs {
	t.Helper()
	if os.Getenv("RXPOST_VM") != "1" {
		t.Skip("boots VMs: set RXPOST_VM=1, as make test does")
	}
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEachKernel(t *testing.T) {
	for _, kernel := range []string{"6.1", "6.12"} {
		t.Run(kernel, func(t *testing.T) { runScripts(t, "testdata/each", kernel) })
	}
}

func TestOnce(t *testing.T) { runScripts(t, "testdata/once", "") }

func runScripts(t *testing.T, dir, kernel string) {
	p := vmTest(t)
	runScriptsOf(t, p, dir, kernel)
}

func runScriptsOf(t *testing.T, p programs, dir, kernel string) {
	t.Helper()
	cache, err := harness.OpenCache()
	if err != nil {
		t.Fatal(err)
	}
	goEnv, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	goVars := strings.Split(string(goEnv), "\n")
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", p.bin+":"+os.Getenv("PATH"))
			e.Setenv("ROOT", p.root)
			e.Setenv("SOFTLINK", p.softlink)
			e.Setenv("E2E", filepath.Join(p.bin, "e2e.test"))
			e.Setenv("KERNEL", kernel)
			e.Setenv("RXPOST_CACHE", cache.Dir)
			e.Setenv("CGO_ENABLED", "0")
			e.Setenv("GOCACHE", goVars[0])
			e.Setenv("GOMODCACHE", goVars[1])
			e.Setenv("GOPROXY", goVars[2])
			return expand(filepath.Join(e.WorkDir, "out"), "$KERNEL", kernel)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// expand replaces a word in a script's file, if it has that file.
func expand(file, word, with string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(text), word, with)), 0o644)
}

// exits runs a command like exec, and wants one exit status of it.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: exits STATUS CMD [ARG...]")
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
