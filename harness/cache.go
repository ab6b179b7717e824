package harness

// This file owns the cache: where it is, and how an entry gets into it whole
// or not at all, whoever else is at it.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Cache is a folder of finished directories. Each is built in a temporary
// place and renamed, under a lock of its own, so that an interrupted build
// leaves nothing that looks finished. What a process uses is not pruned while
// it lives (lock.go, prune.go).
type Cache struct {
	Dir string

	mu    sync.Mutex // protects inUse
	inUse []*os.File // entries, with a shared lock each
}

// OpenCache returns the cache that $RXPOST_CACHE names, or the one in the
// user's cache folder.
func OpenCache() (*Cache, error) {
	dir := os.Getenv("RXPOST_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find the cache: %w; set RXPOST_CACHE", err)
		}
		dir = filepath.Join(base, "rxpost")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the cache: %w", err)
	}
	for _, sub := range []string{"tmp", "locks"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("open the cache: %w", err)
		}
	}
	return &Cache{Dir: dir}, nil
}

// Path is where the entry key lies, finished or not.
func (c *Cache) Path(key string) string { return filepath.Join(c.Dir, key) }

// Has says whether the entry key is finished.
func (c *Cache) Has(key string) (bool, error) {
	_, err := os.Stat(c.Path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Ensure returns the directory of the entry key, and calls build to fill it
// if it is not there yet. The entry is in use from then on.
func (c *Cache) Ensure(ctx context.Context, key string, build func(dir string) error) (string, error) {
	for {
		if ok, err := c.Use(key); ok || err != nil {
			return c.Path(key), err
		}
		if err := c.create(ctx, key, build); err != nil {
			return "", err
		}
	}
}

// create makes the entry key, unless somebody else does so first.
func (c *Cache) create(ctx context.Context, key string, build func(dir string) error) error {
	lock, err := c.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if ok, err := c.Has(key); ok || err != nil {
		return err
	}
	return c.fill(key, build)
}

func (c *Cache) fill(key string, build func(dir string) error) error {
	tmp, remove, err := c.scratch("build-")
	if err != nil {
		return err
	}
	defer remove()
	dir := filepath.Join(tmp, "entry")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if err := build(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Path(key)), 0o755); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if err := os.Rename(dir, c.Path(key)); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

// scratch returns a temporary folder inside the cache, from which a rename into
// the cache is atomic, and what removes it. It is in use until then.
func (c *Cache) scratch(prefix string) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(c.Path("tmp"), prefix)
	if err != nil {
		return "", nil, fmt.Errorf("cache: %w", err)
	}
	f, err := lockFile(dir, os.O_RDONLY, unix.LOCK_SH)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("cache: %w", err), os.RemoveAll(dir))
	}
	return dir, func() {
		os.RemoveAll(dir)
		f.Close()
	}, nil
}
