package harness

// This file owns what leaves the cache, and when.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How long an entry stays after its last use. Other work trees share the cache,
// and their lock files are not known here, so what must be downloaded stays
// long, as does a kernel that took many minutes to build; what is made again in
// seconds, once for every edit, does not.
const (
	keepMade       = 24 * time.Hour
	keepDownloaded = 30 * 24 * time.Hour
)

// pruneEvery is how often Tidy looks at the cache.
const pruneEvery = 24 * time.Hour

// shelf is a kind of entry: those that match a pattern under the cache.
type shelf struct {
	glob   string
	keep   time.Duration
	locked bool // changed in place, under the lock of its key
}

func shelves() []shelf {
	return []shelf{
		{glob: "kmod/*", keep: keepMade},
		{glob: "initramfs/*", keep: keepMade},
		{glob: "tmp/*", keep: keepMade},
		{glob: "accel/*", keep: keepMade},
		{glob: "kmod-work/*", keep: 7 * keepMade, locked: true},
		{glob: "kernels/*", keep: keepDownloaded},
		{glob: "source/*", keep: keepDownloaded},
		{glob: "instead/*", keep: keepDownloaded},
		{glob: "apt-*", keep: keepDownloaded, locked: true},
	}
}

// Pruned is an entry that was removed.
type Pruned struct {
	Key   string
	Bytes int64 // on disk
}

// Tidy prunes once a day, and is no more than a look at a file otherwise.
func (f *Fetcher) Tidy() error {
	mark := f.Cache.Path("pruned")
	fi, err := os.Stat(mark)
	if err == nil && time.Since(fi.ModTime()) < pruneEvery {
		return nil
	}
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	if err := touch(mark); err != nil {
		return err
	}
	gone, err := f.Prune(0)
	if len(gone) > 0 {
		f.say("removed %d unused entries (%d MiB) of the cache", len(gone), Bytes(gone)>>20)
	}
	return err
}

// Bytes is what they took together.
func Bytes(gone []Pruned) int64 {
	var sum int64
	for _, p := range gone {
		sum += p.Bytes
	}
	return sum
}

// Prune removes entries that the lock file does not name, that no process uses
// and that were not used for unused, or, if that is 0, for as long as their kind
// is kept. It returns what it removed.
func (f *Fetcher) Prune(unused time.Duration) ([]Pruned, error) {
	var gone []Pruned
	var errs []error
	named := f.namedKeys()
	for _, s := range shelves() {
		if unused > 0 {
			s.keep = unused
		}
		keys, err := f.Cache.keys(s.glob)
		if err != nil {
			return gone, err
		}
		for _, key := range keys {
			if slices.Contains(named, key) {
				continue
			}
			bytes, err := f.Cache.pruneEntry(key, s)
			if bytes > 0 {
				gone = append(gone, Pruned{key, bytes})
			}
			errs = append(errs, err)
		}
	}
	errs = append(errs, f.Cache.pruneLocks())
	return gone, errors.Join(errs...)
}

// namedKeys are the entries that the lock file stands for.
func (f *Fetcher) namedKeys() []string {
	var keys []string
	for name, lock := range f.Kernels.Locks {
		keys = append(keys, sourceKey(lock), insteadKey(name, lock))
		if lock.Release != "" {
			keys = append(keys, kernelKey(lock))
		}
	}
	for _, s := range f.Kernels.Specs {
		keys = append(keys, aptKey(s))
	}
	return keys
}

// keys lists the entries that match glob.
func (c *Cache) keys(glob string) ([]string, error) {
	names, err := filepath.Glob(c.Path(glob))
	if err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	for i, n := range names {
		names[i] = strings.TrimPrefix(n, c.Dir+"/")
	}
	return names, nil
}

// pruneEntry removes an entry that is old and not in use, and returns what it
// took on disk.
func (c *Cache) pruneEntry(key string, s shelf) (int64, error) {
	if s.locked {
		lock, err := c.tryLock(key)
		if lock == nil {
			return 0, err
		}
		defer lock.Unlock()
	}
	f, err := lockFile(c.Path(key), os.O_RDONLY, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
		return 0, nil // in use, or gone already
	}
	if err != nil {
		return 0, fmt.Errorf("prune %s: %w", key, err)
	}
	defer f.Close()
	// Looked at under the lock: whoever uses it now has touched it before.
	fi, err := f.Stat()
	if err != nil || time.Since(fi.ModTime()) < s.keep {
		return 0, err
	}
	return c.discard(key)
}

// discard takes an entry away whole, then removes what it consists of.
func (c *Cache) discard(key string) (int64, error) {
	dir, remove, err := c.scratch("prune-")
	if err != nil {
		return 0, err
	}
	defer remove()
	entry := filepath.Join(dir, "entry")
	if err := os.Rename(c.Path(key), entry); err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	return diskUse(entry)
}

// diskUse is what the files under dir take on disk.
func diskUse(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		sum += st.Blocks * 512
		return nil
	})
	return sum, err
}

// pruneLocks removes the lock files that nobody holds. Who is about to lock one
// finds out that it is gone (lockFile).
func (c *Cache) pruneLocks() error {
	keys, err := c.keys("locks/*")
	if err != nil {
		return err
	}
	for _, k := range keys {
		l, err := c.tryLock(strings.TrimPrefix(k, "locks/"))
		if err != nil {
			return err
		}
		if l == nil {
			continue
		}
		err = os.Remove(c.Path(k))
		l.Unlock()
		if err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	return nil
}
