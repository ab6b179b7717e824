package harness

// This file owns the part of the initramfs that belongs to one run: the init,
// the command, what --add names, and the Spec.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rxpost/rxpost/harness/wire"
)

// payload collects what one run adds to the initramfs.
type payload struct {
	archive *archive
	dirs    []string // of libraries
}

func newPayload() (*payload, error) {
	dirs, err := libraryDirs()
	if err != nil {
		return nil, err
	}
	return &payload{archive: newLayer(), dirs: dirs}, nil
}

// program adds a host's file as dst, with the libraries it needs.
func (p *payload) program(dst, src string) error {
	if err := p.archive.file(dst, src); err != nil {
		return err
	}
	libs, err := closure(src, p.dirs)
	if err != nil {
		return err
	}
	for _, l := range libs {
		if err := p.archive.file(l, l); err != nil {
			return err
		}
	}
	if len(libs) > 0 && exists("/etc/ld.so.cache") {
		return p.archive.file("/etc/ld.so.cache", "/etc/ld.so.cache")
	}
	return nil
}

// add adds what an --add option names: SRC or SRC:DST, a file or a folder.
func (p *payload) add(arg string) error {
	src, dst, _ := strings.Cut(arg, ":")
	src, err := filepath.Abs(src)
	if err != nil {
		return fmt.Errorf("--add %s: %w", arg, err)
	}
	if dst == "" {
		dst = src
	}
	fi, err := os.Stat(src)
	if err != nil {
		return fmt.Errorf("--add: %w", err)
	}
	if fi.IsDir() {
		return p.archive.tree(dst, src)
	}
	if strings.HasSuffix(dst, "/") {
		dst += filepath.Base(src)
	}
	return p.program(dst, src)
}

// rdmaUserland adds what libibverbs opens at run time, which no ELF header
// names: the providers of the soft devices, which are all a VM has, and what
// says that there are providers.
func (p *payload) rdmaUserland() error {
	const lib = "/usr/lib/x86_64-linux-gnu"
	for _, name := range []string{"rxe", "siw"} {
		conf := "/etc/libibverbs.d/" + name + ".driver"
		providers, err := filepath.Glob(lib + "/libibverbs/lib" + name + "-*.so")
		if err != nil {
			return fmt.Errorf("providers: %w", err)
		}
		if len(providers) == 0 {
			return fmt.Errorf("no provider of %s in %s/libibverbs; install ibverbs-providers", name, lib)
		}
		for _, f := range append(providers, conf) {
			if err := p.program(f, f); err != nil {
				return err
			}
		}
	}
	return p.program(lib+"/libgcc_s.so.1", lib+"/libgcc_s.so.1")
}

// command adds args[0] if it is a file of the host, and returns the arguments
// as the guest will see them.
func (p *payload) command(args []string) ([]string, error) {
	if !strings.Contains(args[0], "/") {
		return args, nil // a name for the guest's PATH
	}
	src, err := filepath.Abs(args[0])
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	fi, err := os.Stat(src)
	if errors.Is(err, fs.ErrNotExist) {
		return args, nil // a path of the guest
	}
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("command: %s is not a regular file", args[0])
	}
	if err := p.program(src, src); err != nil {
		return nil, err
	}
	return append([]string{src}, args[1:]...), nil
}

// rxctl adds the project's own tool, if it stands beside this program.
func (p *payload) rxctl(self string) error {
	tool := filepath.Join(filepath.Dir(self), "rxctl")
	if !exists(tool) {
		return nil
	}
	return p.program("/bin/rxctl", tool)
}

// spec adds the Spec.
func (p *payload) spec(s wire.Spec) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	p.archive.bytes(wire.SpecPath, data, 0o644)
	return nil
}
