package harness

// This file owns the initramfs as a list of files, and writing it as cpio.

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cavaliergopher/cpio"
)

// archive is a file tree to be. The guest has one /usr, as Debian does, so a
// path means the same file on both sides.
type archive struct {
	entries map[string]entry
}

// entry is a file: link, data or the content of a host's file, by what is set.
type entry struct {
	mode cpio.FileMode
	link string
	data []byte
	src  string
}

// newArchive returns a tree with nothing but the links into /usr.
func newArchive() *archive {
	a := &archive{entries: map[string]entry{}}
	for _, d := range []string{"bin", "sbin", "lib", "lib64"} {
		a.mkdir("usr/" + d)
		a.entries[d] = entry{mode: cpio.TypeSymlink | 0o777, link: "usr/" + d}
	}
	return a
}

// newLayer returns an empty tree, to be unpacked over one that newArchive made.
func newLayer() *archive { return &archive{entries: map[string]entry{}} }

// clean is the name in the archive of a guest's path.
func clean(p string) string {
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	first, rest, ok := strings.Cut(p, "/")
	switch first {
	case "bin", "sbin", "lib", "lib64":
		if ok {
			return "usr/" + first + "/" + rest
		}
	}
	return p
}

// put adds an entry with the folders above it.
func (a *archive) put(p string, e entry) {
	p = clean(p)
	if d := path.Dir(p); d != "." {
		a.mkdir(d)
	}
	a.entries[p] = e
}

func (a *archive) mkdir(p string) {
	for p = clean(p); p != "." && p != ""; p = path.Dir(p) {
		if _, ok := a.entries[p]; !ok {
			a.entries[p] = entry{mode: cpio.TypeDir | 0o755}
		}
	}
}

func (a *archive) symlink(p, target string) {
	a.put(p, entry{mode: cpio.TypeSymlink | 0o777, link: target})
}

func (a *archive) bytes(p string, data []byte, perm fs.FileMode) {
	a.put(p, entry{mode: cpio.TypeReg | cpio.FileMode(perm.Perm()), data: data})
}

// file adds a host's file, or what the link src points to.
func (a *archive) file(p, src string) error {
	fi, err := os.Stat(src)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("initramfs: %s is not a regular file", src)
	}
	a.put(p, entry{mode: cpio.TypeReg | cpio.FileMode(fi.Mode().Perm()), src: src})
	return nil
}

// tree adds a host's folder with all that is in it.
func (a *archive) tree(p, src string) error {
	return filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("initramfs: %w", err)
		}
		rel, err := filepath.Rel(src, name)
		if err != nil {
			return fmt.Errorf("initramfs: %w", err)
		}
		dst := path.Join(p, rel)
		switch {
		case d.IsDir():
			a.mkdir(dst)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return fmt.Errorf("initramfs: %w", err)
			}
			a.symlink(dst, target)
		case d.Type().IsRegular():
			return a.file(dst, name)
		}
		return nil
	})
}

// writeTo writes the tree. Names are sorted, so a folder comes before what is
// in it, and the links into /usr before what goes through them.
func (a *archive) writeTo(out io.Writer) error {
	w := cpio.NewWriter(out)
	for i, p := range slices.Sorted(maps.Keys(a.entries)) {
		if err := writeEntry(w, p, int64(i+1), a.entries[p]); err != nil {
			return fmt.Errorf("initramfs: %s: %w", p, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	return nil
}

func writeEntry(w *cpio.Writer, p string, inode int64, e entry) error {
	data := e.data
	if e.link != "" {
		data = []byte(e.link) // a link's body is its target
	}
	if e.src != "" {
		var err error
		if data, err = os.ReadFile(e.src); err != nil {
			return err
		}
	}
	h := &cpio.Header{Name: p, Mode: e.mode, Size: int64(len(data)), Inode: inode, Links: 1}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}
