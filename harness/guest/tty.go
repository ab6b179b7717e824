package guest

// This file owns the pseudo-terminal of an interactive command.

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/harness/wire"
)

// openTTY gives the command one terminal for all three files.
func (p *ports) openTTY(size wire.Size) (*stdio, error) {
	fd, err := unix.Open("/dev/pts/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		master.Close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		master.Close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	s := &stdio{in: slave, out: slave, err: slave, feed: master, sources: []*os.File{master}}
	s.resize(size)
	s.copyOut(master, p.frames.Stream(wire.Stdout))
	return s, nil
}

// resize sets the terminal's size. Pipes have none.
func (s *stdio) resize(size wire.Size) {
	if s.in != s.out || size == (wire.Size{}) {
		return
	}
	conn, err := s.feed.SyscallConn()
	if err != nil {
		return
	}
	conn.Control(func(fd uintptr) {
		unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
}

// eof ends the command's stdin: a pipe is closed, a terminal gets its Ctrl-D.
func (s *stdio) eof() {
	if s.in == s.out {
		s.feed.Write([]byte{4})
		return
	}
	s.feed.Close()
}
