package harness

// This file owns the cache's tests.

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func testCache(t *testing.T) *Cache {
	t.Helper()
	t.Setenv("RXPOST_CACHE", t.TempDir())
	c, err := OpenCache()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnsureBuildsOnce(t *testing.T) {
	c := testCache(t)
	var builds atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := c.Ensure(t.Context(), "a/b", func(dir string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644)
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "f")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestEnsureLeavesNothingHalfBuilt(t *testing.T) {
	c := testCache(t)
	broken := errors.New("broken")
	_, err := c.Ensure(t.Context(), "a/b", func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o644); err != nil {
			t.Error(err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if ok, err := c.Has("a/b"); ok || err != nil {
		t.Errorf("a failed build is there: %v, %v", ok, err)
	}
	left, err := os.ReadDir(c.Path("tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
