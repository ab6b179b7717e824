package harness

// This file owns the host's side of the payload port and the control port.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/rxpost/rxpost/harness/wire"
)

// payloadPort takes the command's output and result files apart, and feeds its
// stdin.
type payloadPort struct {
	conn net.Conn
	w    *wire.Writer
	pl   *plan
	cfg  Config
	ack  chan struct{}
	gone chan struct{} // closed when reading has ended

	mu    sync.Mutex // protects what follows
	ended bool
	fault error
}

func newPayloadPort(conn net.Conn, pl *plan, c Config) *payloadPort {
	return &payloadPort{
		conn: conn, w: wire.NewWriter(conn), pl: pl, cfg: c,
		ack: make(chan struct{}, 1), gone: make(chan struct{}),
	}
}

// read takes frames until the port closes.
func (p *payloadPort) read() {
	defer close(p.gone)
	r := wire.NewReader(p.conn)
	files := &outputs{pl: p.pl}
	for {
		kind, data, err := r.Next()
		if err == nil {
			err = p.frame(kind, data, files)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.fail(err)
			}
			break
		}
	}
	files.discard()
	// Whoever still writes must not block.
	io.Copy(io.Discard, p.conn)
}

func (p *payloadPort) frame(kind wire.Kind, data []byte, files *outputs) error {
	var err error
	switch kind {
	case wire.Stdout:
		_, err = p.cfg.Stdout.Write(data)
	case wire.Stderr:
		_, err = p.cfg.Stderr.Write(data)
	case wire.FileName:
		err = files.begin(string(data))
	case wire.FileData:
		err = files.write(data)
	case wire.Ack:
		select {
		case p.ack <- struct{}{}:
		default: // nothing was waiting for it
		}
	case wire.End:
		err = files.finish()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
	}
	return err
}

func (p *payloadPort) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		p.fault = fmt.Errorf("the command's output: %w", err)
	}
}

func (p *payloadPort) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// complete says whether the guest sent all it had.
func (p *payloadPort) complete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// startStdin begins to feed stdin to the guest. Its goroutine may outlive the
// VM, in a read of the host's stdin that nothing can interrupt.
func (p *payloadPort) startStdin() {
	if p.cfg.Stdin == nil {
		p.w.Frame(wire.StdinEOF, nil)
		return
	}
	go p.feed()
}

func (p *payloadPort) feed() {
	buf := make([]byte, wire.MaxStdin)
	for {
		n, err := p.cfg.Stdin.Read(buf)
		if n > 0 && p.w.Frame(wire.Stdin, buf[:n]) != nil {
			return
		}
		if err != nil {
			// A broken port shows in read; a broken stdin is its end.
			p.w.Frame(wire.StdinEOF, nil)
			return
		}
		if n > 0 {
			select {
			case <-p.ack:
			case <-p.gone:
				return
			}
		}
	}
}

// outputs writes result files, whole or not at all.
type outputs struct {
	pl   *plan
	file *os.File
	name string
}

func (o *outputs) begin(name string) error {
	if err := o.finish(); err != nil {
		return err
	}
	if !o.pl.mayWrite(name) {
		return fmt.Errorf("the guest sent %q, which nobody asked for", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".rxvm-*")
	if err != nil {
		return fmt.Errorf("result file: %w", err)
	}
	o.file, o.name = f, name
	return nil
}

func (o *outputs) write(data []byte) error {
	if o.file == nil {
		return errors.New("file data without a file")
	}
	if _, err := o.file.Write(data); err != nil {
		return fmt.Errorf("result file: %w", err)
	}
	return nil
}

// finish gives the file its name. Its end is known by what follows it.
func (o *outputs) finish() error {
	if o.file == nil {
		return nil
	}
	f := o.file
	defer o.discard()
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return fmt.Errorf("result file: %w", err)
	}
	if err := os.Rename(f.Name(), o.name); err != nil {
		return fmt.Errorf("result file: %w", err)
	}
	return nil
}

// discard drops a file whose end did not come; a finished one has its name
// elsewhere.
func (o *outputs) discard() {
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
		o.file = nil
	}
}

// controlPort carries orders to the guest's init and events back.
type controlPort struct {
	conn   net.Conn
	events chan wire.Event
}

func newControlPort(conn net.Conn) *controlPort {
	// Init sends a handful of events, far fewer than fit.
	return &controlPort{conn: conn, events: make(chan wire.Event, 16)}
}

// read takes events until the port closes.
func (p *controlPort) read() {
	dec := json.NewDecoder(p.conn)
	for {
		var e wire.Event
		if err := dec.Decode(&e); err != nil {
			break
		}
		select {
		case p.events <- e:
		default: // far more than init ever sends: not an init to listen to
		}
	}
	io.Copy(io.Discard, p.conn)
}

// send sends an order. A guest that is gone shows elsewhere.
func (p *controlPort) send(o wire.Order) {
	line, err := json.Marshal(o)
	if err == nil {
		p.conn.Write(append(line, '\n'))
	}
}
