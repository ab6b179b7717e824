package harness

// This file owns the tests that each planted defect fits the modules as they are
// now, and that none gets into another build.

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// defectRig is a cache of the test's own and the project's kmod/.
func defectRig(t *testing.T) (*Fetcher, string) {
	t.Helper()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err := Root(cwd)
	if err != nil {
		t.Fatal(err)
	}
	return &Fetcher{Cache: testCache(t)}, filepath.Join(root, "kmod")
}

func TestDefectsFit(t *testing.T) {
	f, tree := defectRig(t)
	names, err := defectsIn(tree)
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	files, err := sourceFiles(tree)
	if err != nil {
		t.Fatal(err)
	}
	plain := digest(t, tree, files)
	seen := map[string]string{plain: "none"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir, remove, err := f.plantDefect(t.Context(), tree, name)
			if err != nil {
				t.Fatal(err)
			}
			sum := digest(t, dir, files)
			if other, ok := seen[sum]; ok {
				t.Errorf("the sources are those with defect %s", other)
			}
			seen[sum] = name
			remove()
			if exists(dir) {
				t.Errorf("%s was left behind", dir)
			}
		})
	}
	if digest(t, tree, files) != plain {
		t.Error("the work tree has changed")
	}
}

func digest(t *testing.T, dir string, files []string) string {
	t.Helper()
	sum, err := hashFiles(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// A patch is never applied by guess.
func TestDefectsThatDoNotFit(t *testing.T) {
	const patch = "--- a/kmod/x.c\n+++ b/kmod/x.c\n@@ -1,3 +1,2 @@\n a\n-b\n c\n"
	tests := []struct{ name, source, want string }{
		{"fits", "a\nb\nc\n", ""},
		{"moved", "0\n0\n0\na\nb\nc\n", ""},
		{"gone", "a\nB\nc\n", "FAILED"},
		{"other context", "a\nb\nC\n", "FAILED"},
		{"applied already", "a\nc\n", "previously applied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &Fetcher{Cache: testCache(t)}
			tree := t.TempDir()
			writeFile(t, filepath.Join(tree, "x.c"), tt.source)
			writeFile(t, filepath.Join(tree, defectsDir, "d.patch"), patch)
			dir, remove, err := f.plantDefect(t.Context(), tree, "d")
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				defer remove()
				got, err := os.ReadFile(filepath.Join(dir, "x.c"))
				if want := strings.Replace(tt.source, "b\n", "", 1); err != nil || string(got) != want {
					t.Errorf("patched: %q, %v, want %q", got, err, want)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestUnknownDefect(t *testing.T) {
	f, tree := defectRig(t)
	_, _, err := f.plantDefect(t.Context(), tree, "none")
	if e, ok := errors.AsType[*UnknownDefectError](err); !ok || len(e.Known) == 0 {
		t.Errorf("error %v", err)
	}
}

// What is built with a defect shares nothing with what is used.
func TestDefectiveBuildsAreApart(t *testing.T) {
	keys := map[string]Build{}
	for _, b := range []Build{{}, {Defect: "a"}, {Coverage: true}, {Warnings: true}} {
		j := buildJob{Build: b, tree: "/kmod"}
		if other, ok := keys[j.workKey()]; ok {
			t.Errorf("%+v and %+v share %s", b, other, j.workKey())
		}
		keys[j.workKey()] = b
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
