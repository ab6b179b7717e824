package harness

// This file owns the kernel's own modules: the list in vm/modules.txt, what
// those depend on, and getting them out of their compression.

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ulikunitz/xz"
)

// Module is a line of vm/modules.txt.
type Module struct {
	Name     string
	Load     bool // at boot
	RDMA     bool // at boot, if user space is to use verbs
	Optional bool
}

// ParseModules reads the text of vm/modules.txt.
func ParseModules(text string) ([]Module, error) {
	var out []Module
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		m := Module{Name: f[0]}
		for _, flag := range f[1:] {
			switch flag {
			case "load":
				m.Load = true
			case "rdma":
				m.RDMA = true
			case "optional":
				m.Optional = true
			default:
				return nil, fmt.Errorf("modules: line %d: unknown flag %q", n, flag)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// moduleName is the name the kernel has for a module's file.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// moduleIndex maps each module's name to its file under dir.
func moduleIndex(dir string) (map[string]string, error) {
	index := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.Type().IsRegular() && (strings.HasSuffix(n, ".ko") || strings.HasSuffix(n, ".ko.xz")) {
			index[moduleName(n)] = p
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("modules: %w", err)
	}
	return index, nil
}

// readModule returns a module's ELF file.
func readModule(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	if !strings.HasSuffix(file, ".xz") {
		return data, nil
	}
	r, err := xz.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	if data, err = io.ReadAll(r); err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	return data, nil
}

// moduleNeeds lists what a module must find loaded, from its own .modinfo:
// symbols it uses, and what it asks for softly beforehand.
func moduleNeeds(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	s := f.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("no .modinfo section")
	}
	info, err := s.Data()
	if err != nil {
		return nil, err
	}
	var out []string
	for kv := range strings.SplitSeq(string(info), "\x00") {
		k, v, _ := strings.Cut(kv, "=")
		switch k {
		case "depends":
			out = append(out, strings.FieldsFunc(v, func(r rune) bool { return r == ',' })...)
		case "softdep":
			out = append(out, softPre(v)...)
		}
	}
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "-", "_")
	}
	return out, nil
}

// softPre lists the names after "pre:" of a softdep value.
func softPre(v string) []string {
	var out []string
	pre := false
	for _, w := range strings.Fields(v) {
		if strings.HasSuffix(w, ":") {
			pre = w == "pre:"
		} else if pre {
			out = append(out, w)
		}
	}
	return out
}

// stageModules writes the modules and all they depend on into dir, in the
// folders they have in the kernel's own tree, decompressed.
func stageModules(ctx context.Context, k Kernel, want []Module, dir string) error {
	index, err := moduleIndex(filepath.Join(k.Modules(), "kernel"))
	if err != nil {
		return err
	}
	var queue []string
	for _, m := range want {
		if _, ok := index[m.Name]; !ok && !m.Optional {
			return fmt.Errorf("modules: kernel %s has no %s", k.Release, m.Name)
		}
		queue = append(queue, m.Name)
	}
	for i := 0; i < len(queue); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, ok := index[queue[i]]
		if !ok {
			continue // built in, or optional
		}
		needs, err := stageModule(k, file, dir)
		if err != nil {
			return err
		}
		for _, n := range needs {
			if !slices.Contains(queue, n) {
				queue = append(queue, n)
			}
		}
	}
	return nil
}

func stageModule(k Kernel, file, dir string) ([]string, error) {
	data, err := readModule(file)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(k.Modules(), strings.TrimSuffix(file, ".xz"))
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	dst := filepath.Join(dir, rel)
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	if err := os.WriteFile(dst, data, 0o644); err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	needs, err := moduleNeeds(data)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	return needs, nil
}
