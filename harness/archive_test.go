package harness

// This file owns the tests of the initramfs: archive, libraries, payload.

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"/bin/sh": "usr/bin/sh", "/lib64/ld.so": "usr/lib64/ld.so", "/usr/bin/x": "usr/bin/x",
		"/bin": "bin", "/etc/../lib/x": "usr/lib/x", "/tmp/a/": "tmp/a", "/../../etc": "etc",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestArchive(t *testing.T) {
	src := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(src, []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	a := newArchive()
	a.bytes("/etc/x/conf", []byte("abc"), 0o640)
	a.symlink("/sbin/modprobe", "/bin/busybox")
	if err := a.file("/bin/prog", src); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := a.writeTo(&buf); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bin 120777 usr/bin", "etc 40755 ", "etc/x 40755 ", "etc/x/conf 100640 abc", "lib 120777 usr/lib",
		"lib64 120777 usr/lib64", "sbin 120777 usr/sbin", "usr 40755 ", "usr/bin 40755 ", "usr/bin/prog 100755 #!",
		"usr/lib 40755 ", "usr/lib64 40755 ", "usr/sbin 40755 ", "usr/sbin/modprobe 120777 /bin/busybox",
	}
	if diff := cmp.Diff(want, listArchive(t, &buf)); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

func listArchive(t *testing.T, in io.Reader) []string {
	t.Helper()
	var got []string
	for r := cpio.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		// The reader takes a link's body for its target.
		got = append(got, h.Name+" "+strings.TrimPrefix(h.Mode.String(), "0")+" "+string(body)+h.Linkname)
	}
}

func TestClosure(t *testing.T) {
	dirs, err := libraryDirs()
	if err != nil {
		t.Fatal(err)
	}
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	libs, err := closure(sh, dirs)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ld-linux-x86-64.so.2", "libc.so.6"} {
		if !slices.ContainsFunc(libs, func(l string) bool { return filepath.Base(l) == want }) {
			t.Errorf("%s needs %v, which lacks %s", sh, libs, want)
		}
	}
	script := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if libs, err := closure(script, dirs); err != nil || len(libs) != 0 {
		t.Errorf("a script needs %v, %v", libs, err)
	}
	if _, err := closure(sh, nil); !errors.As(err, new(*MissingLibraryError)) {
		t.Errorf("error %v, want a MissingLibraryError", err)
	}
}

func TestCommand(t *testing.T) {
	p, err := newPayload()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	if err := os.WriteFile(prog, []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		arg  string
		want string
		err  bool
	}{
		{arg: "true", want: "true"},
		{arg: "/no/such/file", want: "/no/such/file"},
		{arg: prog, want: prog},
		{arg: dir, err: true},
	}
	for _, tt := range tests {
		got, err := p.command([]string{tt.arg, "x"})
		if (err != nil) != tt.err {
			t.Errorf("%s: error %v", tt.arg, err)
		} else if err == nil && !slices.Equal(got, []string{tt.want, "x"}) {
			t.Errorf("%s: got %v", tt.arg, got)
		}
	}
	if _, ok := p.archive.entries[clean(prog)]; !ok {
		t.Errorf("%s did not come along", prog)
	}
}
