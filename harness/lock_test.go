package harness

// This file owns the tests of the cache's locks: who waits for whom, and what
// outlives a harness that was killed.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holderCache names the cache in which a process of this binary takes a lock
// and builds without end, instead of testing.
const holderCache = "RXPOST_TEST_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holderCache) != "" {
		hold()
	}
	os.Exit(m.Run())
}

// hold is a harness in the middle of a build. Its make has a child that says its
// process id and goes on for a while.
func hold() {
	c, err := OpenCache()
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	lock, err := c.Lock(ctx, "a/b")
	if err != nil {
		panic(err)
	}
	_, err = runHolding(ctx, lock, "", "sh", "-c", "sh -c 'echo $$ >"+c.Path("pid")+"; exec sleep 1000' & wait")
	panic(fmt.Sprint("ended by itself: ", err))
}

// startHolder starts a holder on the test's cache and returns it with the pid
// of the grandchild.
func startHolder(t *testing.T, c *Cache) (holder *exec.Cmd, grandchild int) {
	t.Helper()
	fifo := c.Path("pid")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder = exec.CommandContext(t.Context(), self)
	holder.Env = append(os.Environ(), holderCache+"=1", "RXPOST_CACHE="+c.Dir)
	var said strings.Builder
	holder.Stderr = &said
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { holder.Process.Kill(); holder.Wait() })
	f, err := os.Open(fifo) // until the grandchild opens it too
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if _, scanErr := fmt.Sscan(line, &grandchild); scanErr != nil {
		t.Fatalf("grandchild said %q, %v; holder: %s", line, err, &said)
	}
	t.Cleanup(func() { syscall.Kill(grandchild, syscall.SIGKILL) })
	return holder, grandchild
}

// After a kill -9 the lock is taken as long as a compiler still runs.
func TestLockOutlivesHarness(t *testing.T) {
	c := testCache(t)
	holder, grandchild := startHolder(t, c)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait()
	if l, err := c.tryLock("a/b"); l != nil || err != nil {
		t.Fatalf("the lock is free while a child of the build runs: %v, %v", l, err)
	}
	if err := syscall.Kill(grandchild, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := c.Lock(ctx, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

func TestLockWaitsForContext(t *testing.T) {
	c := testCache(t)
	l, err := c.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	l.Unlock()
	if l, err = c.Lock(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

// Whoever has to wait is told what for; whoever has not is told nothing.
func TestWaitingIsSaid(t *testing.T) {
	var said strings.Builder
	f := &Fetcher{Cache: testCache(t), Progress: &said}
	l, err := f.lock(t.Context(), "a/b")
	if err != nil || said.Len() != 0 {
		t.Fatalf("%v, said %q", err, &said)
	}
	defer l.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := f.lock(ctx, "a/b"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	if want := "rxvm: waiting for another process that works in " + f.Cache.Path("a/b") + "\n"; said.String() != want {
		t.Errorf("said %q, want %q", &said, want)
	}
}

// A lock file that was removed is no lock: who waited for it must not run beside
// who made a new one.
func TestLockIsOnTheNamedFile(t *testing.T) {
	c := testCache(t)
	old, err := c.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(c.Path("locks"), "a")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := sameFile(old.file, name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a removed file: %v, want that it does not exist", err)
	}
	l, err := c.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if err := sameFile(old.file, name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a replaced file: %v, want that it does not exist", err)
	}
	old.Unlock()
}

func TestWorkKey(t *testing.T) {
	a := buildJob{kernel: Kernel{Version: "6.12"}, tree: "/a/kmod"}
	b := a
	b.tree = "/b/kmod"
	w := a
	w.Warnings = true
	if a.workKey() == b.workKey() || a.workKey() == w.workKey() {
		t.Errorf("shared: %s, %s, %s", a.workKey(), b.workKey(), w.workKey())
	}
}
