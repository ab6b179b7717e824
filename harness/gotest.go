package harness

// This file owns what go test expects of a program that runs its tests
// elsewhere: the package's folder as working directory, and result files that
// come back.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxPackageFile bounds what travels with a test: a bigger file in a package's
// folder is a build product that strayed there, or would not fit the VM.
const maxPackageFile = 16 << 20

// goTest is a test binary's command line, as far as the harness minds it.
type goTest struct {
	timeout time.Duration
	files   []string // result files, to bring back
	dirs    []string // folders of result files
	mkdirs  []string // folders the test expects to find
}

// parseGoTest reads a test binary's arguments. ok is false for any other
// command.
//
// The list of files a test opened (-test.testlogfile) deliberately does not
// come back: without it go test does not cache the result, and it must not,
// because it can't see that a kernel module has changed.
func parseGoTest(args []string, cwd string) (t goTest, ok bool) {
	out := cwd
	var relative []string
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if !strings.HasPrefix(a, "-") || !strings.HasPrefix(name, "test.") {
			continue
		}
		ok = true
		switch name {
		case "test.timeout":
			// A value the test itself will refuse is not for us to report.
			t.timeout, _ = time.ParseDuration(value)
		case "test.coverprofile", "test.cpuprofile", "test.memprofile", "test.blockprofile",
			"test.mutexprofile", "test.trace":
			relative = append(relative, value)
		case "test.outputdir":
			out = value
		case "test.gocoverdir":
			t.dirs = append(t.dirs, value)
			t.mkdirs = append(t.mkdirs, value)
		case "test.testlogfile":
			t.mkdirs = append(t.mkdirs, filepath.Dir(value))
		}
	}
	for _, f := range relative {
		if !filepath.IsAbs(f) {
			f = filepath.Join(out, f)
		}
		t.files = append(t.files, f)
		t.mkdirs = append(t.mkdirs, filepath.Dir(f))
	}
	t.mkdirs = append(t.mkdirs, cwd, out)
	return t, ok
}

// packageDir adds a Go package's folder: its own files, and testdata with all
// that is in it. It returns the files that were too big to take along.
func (p *payload) packageDir(dir string) (left []string, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("package folder: %w", err)
	}
	for _, d := range list {
		name := filepath.Join(dir, d.Name())
		if d.IsDir() && d.Name() == "testdata" {
			err = p.archive.tree(name, name)
		} else if d.Type().IsRegular() {
			var fi os.FileInfo
			if fi, err = d.Info(); err == nil && fi.Size() > maxPackageFile {
				left = append(left, d.Name())
			} else if err == nil {
				err = p.archive.file(name, name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("package folder: %w", err)
		}
	}
	return left, nil
}
