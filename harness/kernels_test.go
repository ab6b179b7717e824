package harness

// This file owns the tests of the kernel list, its lock file and the headers.

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKernelSpec(t *testing.T) {
	k, err := ReadKernels("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "6.12", "6.1": "6.1", "6.12": "6.12"} {
		if s, err := k.Spec(name); err != nil || s.Name != want {
			t.Errorf("Spec(%q) = %q, %v, want %q", name, s.Name, err, want)
		}
		if _, ok := k.Locks[want]; !ok {
			t.Errorf("no lock for %s", want)
		}
	}
	if _, err := k.Spec("5.0"); !errors.As(err, new(*UnknownKernelError)) {
		t.Errorf("error %v, want an UnknownKernelError", err)
	}
}

func TestWriteLock(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "vm"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "vm", "kernels.json"), []byte(`[{"name":"a"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := ReadKernels(root)
	if err != nil {
		t.Fatal(err)
	}
	k.Locks["a"] = KernelLock{Release: "1-amd64", Version: "1-2", Packages: []string{"p=1-2"}}
	if err := k.WriteLock(); err != nil {
		t.Fatal(err)
	}
	again, err := ReadKernels(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(k.Locks, again.Locks); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
}

func TestRelocateHeaders(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Makefile")
	for text, want := range map[string]string{
		"include /usr/src/linux-headers-1-common/Makefile\n": "include $(dir $(realpath $(lastword $(MAKEFILE_LIST))))../linux-headers-1-common/Makefile\n",
		"include elsewhere\n":                                "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := relocateHeaders(name)
		if want == "" {
			if err == nil {
				t.Errorf("%q was taken", text)
			}
			continue
		}
		got, readErr := os.ReadFile(name)
		if err != nil || readErr != nil || string(got) != want {
			t.Errorf("got %q, %v, %v, want %q", got, err, readErr, want)
		}
	}
}

// Flavours of one version share neither files nor builds.
func TestFlavoursAreApart(t *testing.T) {
	a := KernelLock{Release: "6.1.0-57-amd64", Version: "6.1.192-3"}
	b := KernelLock{Release: "6.1.0-57-rt-amd64", Version: "6.1.192-3"}
	if kernelKey(a) == kernelKey(b) {
		t.Errorf("both are %s", kernelKey(a))
	}
	f := &Fetcher{Cache: &Cache{Dir: "/c"}}
	work := func(l KernelLock) string {
		return buildJob{kernel: f.kernel(KernelSpec{}, l), tree: "/s"}.workKey()
	}
	if work(a) == work(b) {
		t.Errorf("both are built in %s", work(a))
	}
}
