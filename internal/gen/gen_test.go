// This file tests the Go side of the generator, and that C and Go number alike.

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inRepository moves a test to the top of the repository, where gen runs.
func inRepository(t *testing.T) {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
}

// TestNumbersAgree reads the numbers that the kernel's generator gave out of the
// committed headers, and compares them with those the Go side assumes.
func TestNumbersAgree(t *testing.T) {
	inRepository(t)
	for _, f := range families() {
		s, err := readSpec(specPath(f.name))
		if err != nil {
			t.Fatal(err)
		}
		want := headerNumbers(t, filepath.Join("kmod", "uapi", "linux", f.name+".h"))
		if diff := cmp.Diff(want, goNumbers(f.name, s)); diff != "" {
			t.Errorf("%s: numbers (-C +Go):\n%s", f.name, diff)
		}
	}
}

// goNumbers lists what the template numbers, by the names that C uses.
func goNumbers(family string, s *spec) map[string]int {
	numbers := map[string]int{}
	c := func(parts ...string) string {
		return strings.ToUpper(strings.ReplaceAll(strings.Join(append([]string{family}, parts...), "_"), "-", "_"))
	}
	for i, op := range s.Operations.List {
		numbers[c("cmd", op.Name)] = i + 1
	}
	for _, set := range s.Sets {
		for i, a := range set.Attributes {
			numbers[c("a", set.Name, a.Name)] = i + 1
		}
	}
	for _, d := range s.Definitions {
		for i, e := range d.Entries {
			numbers[c(d.Name, e.Name)] = i
		}
	}
	return numbers
}

// headerNumbers reads the enumerators of a header and counts like a compiler.
func headerNumbers(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`^\t([A-Z0-9_]+)( = 1)?,$`)
	numbers := map[string]int{}
	next := 0
	for line := bufio.NewScanner(bytes.NewReader(text)); line.Scan(); {
		if strings.HasPrefix(line.Text(), "enum ") && strings.HasSuffix(line.Text(), "{") {
			next = 0
		}
		m := entry.FindStringSubmatch(line.Text())
		if m == nil || strings.HasPrefix(m[1], "__") {
			continue
		}
		if m[2] != "" {
			next = 1
		}
		numbers[m[1]] = next
		next++
	}
	return numbers
}

// TestCommittedGo fails when the committed Go is not what its spec generates.
func TestCommittedGo(t *testing.T) {
	inRepository(t)
	if err := run(t.Context(), []string{"-only", "go", "-check"}); err != nil {
		t.Error(err)
	}
}

func TestCompareNamesEachFile(t *testing.T) {
	dir := t.TempDir()
	same, changed, missing := filepath.Join(dir, "same"), filepath.Join(dir, "changed"), filepath.Join(dir, "missing")
	for _, path := range []string{same, changed} {
		if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files := []output{{same, []byte("old")}, {changed, []byte("new")}, {missing, []byte("new")}}
	err := compare(files)
	if err == nil || strings.Contains(err.Error(), same) || !strings.Contains(err.Error(), changed) || !strings.Contains(err.Error(), missing) {
		t.Errorf("compare says %v, want the changed and the missing file named", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("compare wrote a file: %v", err)
	}
	if err := write(files); err != nil {
		t.Fatal(err)
	}
	if err := compare(files); err != nil {
		t.Errorf("after write: %v", err)
	}
}

func TestSpecRefused(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":      "protocol: genetlink-legacy\nfancy: 1\n",
		"other protocol":   "protocol: genetlink\n",
		"other definition": "protocol: genetlink-legacy\ndefinitions: [{type: flags, name: x}]\n",
		"explicit value":   "protocol: genetlink-legacy\nattribute-sets: [{name: a, attributes: [{name: b, type: u32, value: 4}]}]\n",
	} {
		if _, err := parseSpec([]byte(text)); err == nil {
			t.Errorf("%s: the spec was taken", name)
		}
	}
}

func TestNames(t *testing.T) {
	for want, parts := range map[string][]string{
		"RNRTimerUS": {"rnr-timer-us"}, "PostWRs": {"post-wrs"}, "ReceiverStateNoDevice": {"receiver-state", "no-device"},
	} {
		if got := camel(parts...); got != want {
			t.Errorf("%q became %s, want %s", parts, got, want)
		}
	}
	if got := unexported("attr", "", "receiver", "poller-pid"); got != "attrReceiverPollerPID" {
		t.Errorf("unexported name is %s", got)
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{}, {"-only", "rust"}, {"-only", "go", "x"}, {"-check"}} {
		if o, err := parseOptions(args); err == nil {
			t.Errorf("%q was taken as %+v", args, o)
		}
	}
}
