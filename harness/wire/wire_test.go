package wire

// This file owns the tests of frames and of exit codes.

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
)

func TestFramesKeepStreamsApart(t *testing.T) {
	var line bytes.Buffer
	w := NewWriter(&line)
	long := strings.Repeat("x", 2*MaxFrame+1)
	io.WriteString(w.Stream(Stdout), "out")
	io.WriteString(w.Stream(Stderr), long)
	w.Frame(End, nil)

	got := map[Kind]string{}
	r := NewReader(&line)
	for {
		k, data, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[k] += string(data)
	}
	if got[Stdout] != "out" || got[Stderr] != long {
		t.Errorf("stdout %q, stderr of %d bytes", got[Stdout], len(got[Stderr]))
	}
	if _, ok := got[End]; !ok {
		t.Error("the empty frame is missing")
	}
}

func TestReaderRefuses(t *testing.T) {
	tests := []struct {
		name, line string
		want       error
	}{
		{"noise", "login: ", new(FrameError)},
		{"too long", "\x01\xff\x00\x00\x00", new(FrameError)},
		{"cut in the head", "\x01\x00", io.ErrUnexpectedEOF},
		{"cut in the data", "\x01\x00\x00\x00\x02x", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := NewReader(strings.NewReader(tt.line)).Next()
			if _, isFrame := tt.want.(*FrameError); isFrame {
				if !errors.As(err, new(*FrameError)) {
					t.Errorf("error %v, want a FrameError", err)
				}
			} else if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	for s, want := range map[Status]int{
		{Code: 0}: 0, {Code: 7}: 7, {Signal: syscall.SIGKILL}: 137,
	} {
		if got := s.ExitCode(); got != want {
			t.Errorf("%+v: got %d, want %d", s, got, want)
		}
	}
}
