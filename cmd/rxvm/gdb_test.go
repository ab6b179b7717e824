package main

// This file owns the test that a debugger can attach. It speaks the little of
// gdb's protocol that it takes, so that nobody needs gdb to test.

import (
	"bufio"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A debugger that connects stops the VM and is told where it stands. Ctrl-C ends
// a VM that is stopped like any other.
func TestGDB(t *testing.T) {
	p := vmTest(t)
	sock := filepath.Join(t.TempDir(), "gdb.sock")
	r := startGuest(t, p, "--gdb", sock, "sh", "-c", "echo up; sleep 1000")
	conn, err := net.Dial("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	// "Why did you stop?" The last two digits are a checksum.
	if _, err := io.WriteString(conn, "$?#3f"); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(conn).ReadString('#')
	// "By that signal, in that thread." QEMU may say so before it was asked.
	if !strings.HasPrefix(strings.TrimPrefix(answer, "+"), "$T0") || !strings.Contains(answer, "thread:01") {
		t.Errorf("answer %q, %v; want where it stopped", answer, err)
	}
	if ws := r.end(t, syscall.SIGINT); ws.ExitStatus() != exitInterrupted {
		t.Errorf("ended with %v; stderr:\n%s", ws, r.stderr)
	}
	gone(t, r.qemu)
	r.empty(t)
}
