package main

// This file owns the tests of what gcov and gcovr make of a program's counts.

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const program = `#include <stdlib.h>
static void lockdep_assert_held(int x)
{
	if (!x)
		abort();
}
int main(int argc, char **argv)
{
	lockdep_assert_held(argc > 0);
	if (argc > 1)
		return 1;
	return 0;
}
`

// Counts that a program leaves somewhere else than its source is, as the kernel
// does: one object was executed twice, and one never.
func TestFigures(t *testing.T) {
	for _, tool := range []string{"gcc", "gcov", "gcovr"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v; make deps installs it", err)
		}
	}
	t.Chdir(t.TempDir())
	objects := filepath.Join("counts", "run")
	for _, d := range []string{"kmod/send", filepath.Join(objects, "send")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"conn", "send/conn"} {
		if err := os.WriteFile("kmod/"+name+".c", []byte(program), 0o644); err != nil {
			t.Fatal(err)
		}
		command(t, "gcc", "--coverage", "-c", "kmod/"+name+".c", "-o", filepath.Join(objects, name+".o"))
	}
	command(t, "gcc", "--coverage", filepath.Join(objects, "conn.o"), "-o", "program")
	command(t, "./program")
	command(t, "./program")
	if err := annotate(t.Context(), "counts", "annotated"); err != nil {
		t.Fatal(err)
	}
	s, err := summarise(t.Context(), "annotated", "counts")
	if err != nil {
		t.Fatal(err)
	}
	// The branches of an assertion's caller are none; gcovr leaves out braces
	// that were not reached.
	want := []file{{"kmod/conn.c", 9, 7, 4, 2}, {"kmod/send/conn.c", 8, 0, 4, 0}}
	if diff := cmp.Diff(want, s.Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := os.Stat("counts/index.html"); err != nil {
		t.Error(err)
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func TestNoNotes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := annotate(t.Context(), ".", "annotated"); err == nil {
		t.Error("no notes, and no error")
	}
}

// A source that is called otherwise is missed, and not left out.
func TestSourceElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, d := range []string{"kmod", "elsewhere", "counts"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("elsewhere/conn.c", []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "gcc", "--coverage", "-c", "elsewhere/conn.c", "-o", "counts/conn.o")
	if err := annotate(t.Context(), "counts", "annotated"); err == nil {
		t.Error("nothing of ours, and no error")
	}
}
