package harness

// This file owns the tests of module lists and of what a build reads.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseModules(t *testing.T) {
	got, err := ParseModules("# all\n\na load optional # why\nb\nc rdma\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Module{{Name: "a", Load: true, Optional: true}, {Name: "b"}, {Name: "c", RDMA: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if _, err := ParseModules("a\nb lod\n"); err == nil || err.Error() != `modules: line 2: unknown flag "lod"` {
		t.Errorf("error %v", err)
	}
}

// The project's own list must stay readable.
func TestModulesFile(t *testing.T) {
	text, err := os.ReadFile("../vm/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseModules(string(text)); err != nil {
		t.Error(err)
	}
}

// A module that a kernel need not have is loaded where it is there; one that it
// must have is asked for in any case, and missed at boot.
func TestBootModules(t *testing.T) {
	root, k := t.TempDir(), Kernel{Root: t.TempDir(), Release: "1.2"}
	const list = "there load optional\ngone load optional\nmust load\nverbs rdma\nverbs_gone rdma optional\nidle\n"
	for name, text := range map[string]string{
		filepath.Join(root, "vm", "modules.txt"):                 list,
		filepath.Join(k.Modules(), "kernel", "a", "there.ko.xz"): "",
		filepath.Join(k.Modules(), "kernel", "b", "verbs.ko"):    "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for userland, want := range map[bool][]string{
		false: {"there", "must"},
		true:  {"there", "must", "verbs"},
	} {
		got, err := Config{RDMAUserland: userland}.boot(root, k)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with userland %v (-want +got):\n%s", userland, diff)
		}
	}
}

func TestModuleName(t *testing.T) {
	for file, want := range map[string]string{
		"/m/crc32-pclmul.ko.xz": "crc32_pclmul", "rdma_rxe.ko": "rdma_rxe",
	} {
		if got := moduleName(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

func TestSoftPre(t *testing.T) {
	got := softPre("pre: a b post: c pre: d")
	if diff := cmp.Diff([]string{"a", "b", "d"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// What an in-tree build leaves behind must not look like a source.
func TestSourceFiles(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"Kbuild", "Makefile", "a.c", "a.h", "a.o", "a.ko", "a.mod.c", ".a.o.cmd", "Module.symvers", "gen/b.c"} {
		p := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := sourceFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Kbuild", "Makefile", "a.c", "a.h", "gen/b.c"}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestHashFiles(t *testing.T) {
	dir := t.TempDir()
	sum := func(text string, words ...string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := hashFiles(dir, []string{"a"}, words...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := sum("x", "6.1")
	if one != sum("x", "6.1") {
		t.Error("the same input has two digests")
	}
	for _, other := range []string{sum("y", "6.1"), sum("x", "6.12"), sum("x", "6.1", "W")} {
		if other == one {
			t.Error("two inputs have the same digest")
		}
	}
}
