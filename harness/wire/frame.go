package wire

// This file owns the framing of the payload port, which keeps the command's
// stdout, stderr and result files apart on one serial line.

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// Kind says what a frame carries.
type Kind byte

// The kinds of frame. Stdin and its acknowledgement exist because a serial
// port has no flow control that could hold the host back: the host sends one
// Stdin frame and waits for its Ack.
const (
	Stdout Kind = 1 + iota
	Stderr
	FileName // begins a result file
	FileData
	End // nothing follows
	Stdin
	StdinEOF
	Ack
)

// MaxFrame bounds a frame's data; MaxStdin bounds a Stdin frame, which must
// fit into the guest's line discipline.
const (
	MaxFrame = 32 << 10
	MaxStdin = 1 << 10
)

// FrameError is a frame that can't be one: the line is out of step.
type FrameError struct {
	Kind Kind
	Size uint32
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("broken frame: kind %d, %d bytes", e.Kind, e.Size)
}

// Writer writes frames. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Frame writes data as frames of kind k. Empty data still makes one frame.
func (w *Writer) Frame(k Kind, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		n := min(len(data), MaxFrame)
		buf := make([]byte, 5, 5+n)
		buf[0] = byte(k)
		binary.BigEndian.PutUint32(buf[1:], uint32(n))
		if _, err := w.w.Write(append(buf, data[:n]...)); err != nil {
			return fmt.Errorf("frame: %w", err)
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

// Stream is an io.Writer whose every write becomes frames of one kind.
func (w *Writer) Stream(k Kind) io.Writer { return stream{w, k} }

type stream struct {
	w *Writer
	k Kind
}

func (s stream) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := s.w.Frame(s.k, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Reader reads frames.
type Reader struct {
	r   io.Reader
	buf [MaxFrame]byte
}

// NewReader returns a Reader on r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next frame; its data is valid until the call after.
// The error is io.EOF only between frames.
func (r *Reader) Next() (Kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	k, n := Kind(head[0]), binary.BigEndian.Uint32(head[1:])
	if k < Stdout || k > Ack || n > MaxFrame {
		return 0, nil, &FrameError{k, n}
	}
	if _, err := io.ReadFull(r.r, r.buf[:n]); err != nil {
		return 0, nil, fmt.Errorf("frame cut short: %w", err)
	}
	return k, r.buf[:n], nil
}
