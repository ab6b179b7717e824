package harness

// This file owns the cache's locks, all of them flocks: one per entry for who
// makes it, and one on an entry itself for who uses it. The kernel drops them
// with the last process that holds one, however that ends.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is the right to make or change an entry.
type Lock struct {
	file *os.File
}

// Unlock gives the lock back. Programs that were started with it and still run
// keep it (runHolding).
func (l *Lock) Unlock() { l.file.Close() }

// lockPoll is how often a taken lock is tried again. flock has no form that
// also waits for a context, and a blocked call would outlive Ctrl-C.
const lockPoll = 100 * time.Millisecond

// Lock takes the lock named key, or waits for it until ctx ends.
func (c *Cache) Lock(ctx context.Context, key string) (*Lock, error) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		l, err := c.tryLock(key)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock of %s: %w", key, ctx.Err())
		case <-tick.C:
		}
	}
}

// tryLock takes the lock named key, or returns nil if somebody has it.
func (c *Cache) tryLock(key string) (*Lock, error) {
	name := filepath.Join(c.Path("locks"), strings.ReplaceAll(key, "/", "-"))
	f, err := lockFile(name, os.O_CREATE|os.O_RDWR, unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", key, err)
	}
	return &Lock{f}, nil
}

// lockFile opens a file or folder and locks it. What was removed or replaced in
// between, as prune does, is not there: fs.ErrNotExist.
func lockFile(name string, flag, how int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), how)
	}
	if err == nil {
		err = sameFile(f, name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sameFile checks that name is still the file that f is.
func sameFile(f *os.File, name string) error {
	have, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(name)
	if err == nil && !os.SameFile(have, now) {
		err = fs.ErrNotExist
	}
	return err
}

// Use says whether the entry key is finished. If it is, it is in use until this
// process ends, and its age starts anew.
func (c *Cache) Use(key string) (bool, error) {
	f, err := lockFile(c.Path(key), os.O_RDONLY, unix.LOCK_SH)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cache: use %s: %w", key, err)
	}
	c.mu.Lock()
	c.inUse = append(c.inUse, f)
	c.mu.Unlock()
	return true, touch(c.Path(key))
}

// touch sets a file's time to now, which needs the right to write, not to own.
func touch(name string) error {
	if err := unix.Utimes(name, nil); err != nil {
		return fmt.Errorf("touch %s: %w", name, err)
	}
	return nil
}
