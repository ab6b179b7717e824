package harness

// This file owns finding the shared libraries a host program needs.

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MissingLibraryError means that a library a program names is not on the host.
type MissingLibraryError struct {
	File, Library string
}

func (e *MissingLibraryError) Error() string {
	return fmt.Sprintf("%s needs %s, which is not on this host", e.File, e.Library)
}

// libraryDirs lists where the host's dynamic linker looks. The built-in
// folders come last, as the linker has it.
func libraryDirs() ([]string, error) {
	dirs, err := ldConf("/etc/ld.so.conf")
	if err != nil {
		return nil, err
	}
	return append(dirs,
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"), nil
}

func ldConf(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("library folders: %w", err)
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "include":
			files, err := filepath.Glob(f[1])
			if err != nil {
				return nil, fmt.Errorf("library folders: %w", err)
			}
			for _, n := range files {
				more, err := ldConf(n)
				if err != nil {
					return nil, err
				}
				dirs = append(dirs, more...)
			}
		case len(f) == 1:
			dirs = append(dirs, f[0])
		}
	}
	return dirs, nil
}

// closure returns file's interpreter and every library it or they need, by the
// path under which the guest's linker will look for them. A file that is not
// ELF, a script say, needs nothing.
func closure(file string, dirs []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	queue := []string{file}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		needs, err := neededBy(f, dirs)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
				queue = append(queue, n)
			}
		}
	}
	return out, nil
}

func neededBy(file string, dirs []string) ([]string, error) {
	f, err := elf.Open(file)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close()
	out, err := interpreter(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	libs, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	search := append(runPath(f, filepath.Dir(file)), dirs...)
	for _, lib := range libs {
		p, err := findLibrary(lib, search, f.Machine)
		if err != nil {
			return nil, err
		}
		if p == "" {
			return nil, &MissingLibraryError{File: file, Library: lib}
		}
		out = append(out, p)
	}
	return out, nil
}

func interpreter(f *elf.File) ([]string, error) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			return []string{strings.TrimRight(string(name), "\x00")}, err
		}
	}
	return nil, nil
}

// runPath is the program's own list of folders.
func runPath(f *elf.File, origin string) []string {
	var out []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		vals, err := f.DynString(tag)
		if err != nil {
			continue // a static program has no dynamic section to read
		}
		for _, v := range vals {
			for d := range strings.SplitSeq(v, ":") {
				d = strings.ReplaceAll(d, "${ORIGIN}", origin)
				out = append(out, strings.ReplaceAll(d, "$ORIGIN", origin))
			}
		}
	}
	return out
}

// findLibrary returns the first file called lib in dirs that is for machine.
func findLibrary(lib string, dirs []string, machine elf.Machine) (string, error) {
	if strings.Contains(lib, "/") {
		return lib, nil
	}
	for _, d := range dirs {
		p := filepath.Join(d, lib)
		f, err := elf.Open(p)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("library %s: %w", p, err)
		}
		m := f.Machine
		f.Close()
		if m == machine {
			return p, nil
		}
	}
	return "", nil
}
