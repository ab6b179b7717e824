package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Options vanish silently: what is not there is told by name.
func TestRefusedOptions(t *testing.T) {
	const asked = `# A comment about CONFIG_NOTHING=y.
CONFIG_KASAN=y
CONFIG_RDMA_RXE=m
CONFIG_LOCKDEP_BITS=17
# CONFIG_SLUB_TINY is not set
CONFIG_GONE=y
`
	for _, tt := range []struct {
		name, config string
		want         []string
	}{
		{"all there", "CONFIG_KASAN=y\nCONFIG_RDMA_RXE=m\nCONFIG_LOCKDEP_BITS=17\nCONFIG_GONE=y\n", nil},
		{"one vanished", "CONFIG_KASAN=y\nCONFIG_RDMA_RXE=m\nCONFIG_LOCKDEP_BITS=17\n", []string{"CONFIG_GONE=y"}},
		{"one is off", "# CONFIG_KASAN is not set\nCONFIG_RDMA_RXE=m\nCONFIG_LOCKDEP_BITS=17\nCONFIG_GONE=y\n", []string{"CONFIG_KASAN=y"}},
		{"one has another value", "CONFIG_KASAN=y\nCONFIG_RDMA_RXE=y\nCONFIG_LOCKDEP_BITS=15\nCONFIG_GONE=y\n",
			[]string{"CONFIG_RDMA_RXE=m", "CONFIG_LOCKDEP_BITS=17"}},
		{"one must be off", "CONFIG_KASAN=y\nCONFIG_RDMA_RXE=m\nCONFIG_LOCKDEP_BITS=17\nCONFIG_GONE=y\nCONFIG_SLUB_TINY=y\n",
			[]string{"CONFIG_SLUB_TINY is not set"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, refused(parseOptions(asked), parseOptions(tt.config))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	err := error(&OptionsError{Kernel: "debug", Options: []string{"CONFIG_GONE=y", "CONFIG_SLUB_TINY is not set"}})
	if !strings.HasSuffix(err.Error(), "CONFIG_GONE=y, CONFIG_SLUB_TINY is not set") {
		t.Error(err)
	}
}

// A kernel is built again when anything that decides what it is changes, and
// only then.
func TestRecipe(t *testing.T) {
	dir := t.TempDir()
	k := &Kernels{dir: dir}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, "config", name+".config")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := KernelSpec{Name: "debug", Config: []string{"base", "debug"}}
	lock := KernelLock{Version: "6.12.1-1", Source: "linux-source-6.12=6.12.1-1"}
	key := func() string {
		t.Helper()
		r, err := k.recipe(t.Context(), spec, lock)
		if err != nil {
			t.Fatal(err)
		}
		return r.key()
	}

	if _, err := k.recipe(t.Context(), spec, lock); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its options: %v", err)
	}
	write("base", "CONFIG_SMP=y\n")
	write("debug", "CONFIG_KASAN=y\n")
	first := key()
	seen := map[string]string{first: "the first"}
	if again := key(); again != first {
		t.Errorf("the same recipe has two keys: %s and %s", first, again)
	}
	differs := func(what string) {
		t.Helper()
		if was, ok := seen[key()]; ok {
			t.Errorf("%s: the same key as %s", what, was)
		}
		seen[key()] = what
	}
	write("debug", "CONFIG_KASAN=y\nCONFIG_KCSAN=y\n")
	differs("another option")
	lock.Source, lock.Version = "linux-source-6.12=6.12.2-1", "6.12.2-1"
	differs("another source")
	spec.Config = spec.Config[:1]
	differs("one fragment less")
	spec.Name = "next"
	differs("another name")
}

// A build says how far it is, but not with each file.
func TestBuildProgress(t *testing.T) {
	var told []string
	p := &buildProgress{kernel: "debug", began: time.Now(), say: func(format string, args ...any) {
		told = append(told, format)
	}}
	const out = "  CC      a.o\n  CC      b.o\n"
	for range 10 {
		if n, err := p.Write([]byte(out)); n != len(out) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(told) != 0 || p.files != 20 {
		t.Errorf("told %q after %d steps", told, p.files)
	}
	p.began = p.began.Add(-progressEvery)
	for range 2 {
		if _, err := p.Write([]byte(out)); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 1 {
		t.Errorf("told %q", told)
	}
}

// What a program prints is seen while it runs, and returned all the same.
func TestRunWatched(t *testing.T) {
	var seen strings.Builder
	out, err := runWatched(context.Background(), &seen, "", "sh", "-c", "echo one; echo two >&2")
	if err != nil || out != "one\n" || seen.String() != "one\n" {
		t.Errorf("%q, watched %q, %v", out, seen.String(), err)
	}
}
