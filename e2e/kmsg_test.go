package e2e

// This file owns what the kernel logs, and what it must say.

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/ctl"
)

// kernelLog reads what the kernel logs from the call on.
type kernelLog struct {
	t  *testing.T
	fd int
}

func newKernelLog(t *testing.T) kernelLog {
	t.Helper()
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		t.Fatal(err)
	}
	return kernelLog{t, fd}
}

// lines returns the messages since the last call that contain a text.
func (k kernelLog) lines(text string) []string {
	k.t.Helper()
	var found []string
	record := make([]byte, 8192) // a read returns one message, whole
	for {
		n, err := unix.Read(k.fd, record)
		if errors.Is(err, unix.EAGAIN) {
			return found
		}
		if err != nil {
			k.t.Fatal(err) // EPIPE: messages were lost
		}
		// Level, number, time and flags; then the text to the line's end.
		_, message, _ := bytes.Cut(record[:n], []byte(";"))
		line, _, _ := strings.Cut(string(message), "\n")
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
}

// reclaimed checks that the kernel warned once, with device, QPN and count.
func (k kernelLog) reclaimed(d device, down ctl.Event) {
	k.t.Helper()
	want := fmt.Sprintf("rxpost_recv: %s: QP %d: reclaimed %d receives that the device never completed",
		d.name, down.QPN, down.Ledger.Reclaimed)
	lines := k.lines("reclaimed")
	if len(lines) != 1 || lines[0] != want {
		k.t.Errorf("the kernel says %q; want once %q", lines, want)
	}
}
