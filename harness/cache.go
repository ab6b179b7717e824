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
	"time"

	"golang.org/x/sys/unix"
)

// Cache is a folder of finished directories. Each is built in a temporary
// place and renamed, under a lock of its own, so that an interrupted build
// leaves nothing that looks finished.
type Cache struct {
	Dir string
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
// if it is not there yet.
func (c *Cache) Ensure(ctx context.Context, key string, build func(dir string) error) (string, error) {
	if ok, err := c.Has(key); ok || err != nil {
		return c.Path(key), err
	}
	unlock, err := c.Lock(ctx, key)
	if err != nil {
		return "", err
	}
	defer unlock()
	// Somebody else may have built it while we waited for the lock.
	if ok, err := c.Has(key); ok || err != nil {
		return c.Path(key), err
	}
	return c.Path(key), c.fill(key, build)
}

func (c *Cache) fill(key string, build func(dir string) error) error {
	tmp, err := os.MkdirTemp(c.Path("tmp"), "build-")
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	defer os.RemoveAll(tmp)
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

// lockPoll is how often a taken lock is tried again. flock has no form that
// also waits for a context, and a blocked call would outlive Ctrl-C.
const lockPoll = 100 * time.Millisecond

// Lock takes the lock named key, or waits for it until ctx ends.
func (c *Cache) Lock(ctx context.Context, key string) (unlock func(), err error) {
	name := filepath.Join(c.Path("locks"), filepath.Base(filepath.Dir(key))+"-"+filepath.Base(key))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", key, err)
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", key, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for the lock of %s: %w", key, ctx.Err())
		case <-tick.C:
		}
	}
}
