package guest

// This file owns the guest's side of the two serial ports.

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/harness/wire"
)

// ports are the lines to the host.
type ports struct {
	payload *os.File
	control *os.File
	frames  *wire.Writer
	mu      sync.Mutex // protects writes to control
}

func openPorts() (*ports, error) {
	payload, err := openRaw(wire.PayloadPort)
	if err != nil {
		return nil, err
	}
	control, err := openRaw(wire.ControlPort)
	if err != nil {
		return nil, err
	}
	return &ports{payload: payload, control: control, frames: wire.NewWriter(payload)}, nil
}

// openRaw opens a serial line for bytes as they are.
func openRaw(name string) (*os.File, error) {
	// Non-blocking, or the open waits for a carrier.
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	t := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200}
	t.Cc[unix.VMIN] = 1
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &t); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set up %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// event sends an event to the host.
func (p *ports) event(e wire.Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.control.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("control port: %w", err)
	}
	return drain(p.control)
}

// file sends a result file.
func (p *ports) file(name string, data []byte) error {
	if err := p.frames.Frame(wire.FileName, []byte(name)); err != nil {
		return err
	}
	return p.frames.Frame(wire.FileData, data)
}

// finish ends the payload port and waits until the line is empty, so that the
// status never overtakes the output.
func (p *ports) finish() error {
	if err := p.frames.Frame(wire.End, nil); err != nil {
		return err
	}
	return drain(p.payload)
}

// drain waits until all written bytes have left the port.
func drain(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var ioErr error
	err = conn.Control(func(fd uintptr) {
		// Orphans die while this waits, and each is a signal to init.
		for ioErr = unix.EINTR; ioErr == unix.EINTR; {
			ioErr = unix.IoctlSetInt(int(fd), unix.TCSBRK, 1)
		}
	})
	if err == nil {
		err = ioErr
	}
	if err != nil {
		return fmt.Errorf("drain %s: %w", f.Name(), err)
	}
	return nil
}
