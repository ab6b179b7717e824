// This file tests requests, their errors and their bounds against a fake
// kernel.

package ctl

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
)

// answerWith checks a request and answers with one message.
func answerWith(t *testing.T, cmd uint8, flags netlink.HeaderFlags, encode func(*netlink.AttributeEncoder) error) genltest.Func {
	t.Helper()
	return genltest.CheckRequest(fakeFamilyID, cmd, flags, func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
		return []genetlink.Message{message(t, cmd, encode)}, nil
	})
}

func TestAdd(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdReceiverNew, netlink.Request, encodeReceiver))
	got, err := c.Add(t.Context(), ReceiverConfig{Name: "r0", Addr: netip.MustParseAddrPort("10.9.0.1:7471")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantReceiver(), got, netipComparer()); diff != "" {
		t.Errorf("receiver (-want +got):\n%s", diff)
	}
}

func TestReceiversNone(t *testing.T) {
	c, _ := newFake(t, genltest.CheckRequest(fakeFamilyID, cmdReceiverGet, netlink.Request|netlink.Dump,
		func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) { return nil, io.EOF }))
	got, err := c.Receivers(t.Context())
	if err != nil || got == nil || len(got) != 0 {
		t.Errorf("receivers %v, error %v; want an empty list", got, err)
	}
}

func TestConnsOfOne(t *testing.T) {
	var asked string
	c, _ := newFake(t, func(req genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
		asked = attrString(req.Data, attrConnReceiverName)
		return nil, io.EOF
	})
	if _, err := c.Conns(t.Context(), "r7"); err != nil || asked != "r7" {
		t.Errorf("asked for the connections of %q, error %v", asked, err)
	}
}

func TestSetWantsAcknowledgement(t *testing.T) {
	c, _ := newFake(t, genltest.CheckRequest(fakeFamilyID, cmdReceiverSet, netlink.Request|netlink.Acknowledge,
		func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
			return []genetlink.Message{{}}, nil
		}))
	if err := c.Set(t.Context(), ReceiverConfig{Name: "r0", Batch: new(uint32(8))}); err != nil {
		t.Error(err)
	}
}

func TestErrno(t *testing.T) {
	tests := []struct {
		errno syscall.Errno
		is    error
	}{
		{syscall.EPERM, os.ErrPermission},
		{syscall.EACCES, os.ErrPermission},
		{syscall.EEXIST, os.ErrExist},
		{syscall.ENOENT, os.ErrNotExist},
		{syscall.ENODEV, os.ErrNotExist},
		{syscall.EINVAL, syscall.EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.errno.Error(), func(t *testing.T) {
			c, _ := newFake(t, func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
				return nil, genltest.Error(int(tt.errno))
			})
			_, err := c.Receiver(t.Context(), "r0")
			if !errors.Is(err, tt.is) || !errors.Is(err, tt.errno) || errors.Is(err, ErrNotLoaded) {
				t.Errorf("error %v (%T) does not match %v, or too much", err, err, tt.is)
			}
		})
	}
}

func TestNotLoaded(t *testing.T) {
	c, k := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	k.setAbsent(true)
	if _, err := c.Info(t.Context()); !errors.Is(err, ErrNotLoaded) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the module: %v, want ErrNotLoaded and nothing else", err)
	}
	k.setAbsent(false)
	if _, err := c.Info(t.Context()); err != nil {
		t.Errorf("once the module is loaded: %v", err)
	}
	// The family's number is known now; ENOENT for it means that it is gone.
	k.setAbsent(true)
	if _, err := c.Info(t.Context()); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("after the module was unloaded: %v, want ErrNotLoaded", err)
	}
}

// TestExtendedError checks the kernel's sentence and attribute; genltest cannot
// send them.
func TestExtendedError(t *testing.T) {
	cfg := ReceiverConfig{Name: "r0", Depth: new(uint32(1)), Batch: new(uint32(2))}
	sent := attributes(t, cfg.encode)
	// Behind the headers: the name takes 8 bytes, depth 8, then comes batch.
	oe := &netlink.OpError{Op: "receive", Err: syscall.ERANGE, Message: "batch 2 is above depth 1", Offset: 20 + 16}
	e := newError(t.Context(), "add receiver r0", receiverAttrs(), sent, oe)
	want := &Error{Op: "add receiver r0", Message: "batch 2 is above depth 1", Attr: "batch", Err: syscall.ERANGE}
	if *e != *want {
		t.Errorf("error is %#v, want %#v", e, want)
	}
	if got, want := e.Error(), "add receiver r0: batch 2 is above depth 1 (attribute batch)"; got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
	unknown := attributes(t, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(200, 1)
		return nil
	})
	if got := attrAt(receiverAttrs(), unknown, 20); got != "" {
		t.Errorf("attribute 200 is named %q", got)
	}
	for _, offset := range []int{0, 3, 19, 1000, -4} {
		if got := attrAt(receiverAttrs(), sent, offset); got != "" {
			t.Errorf("offset %d names attribute %q", offset, got)
		}
	}
}

func TestContextEnded(t *testing.T) {
	c, _ := newFake(t, func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Receivers(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// TestStaleAnswer puts an answer to an earlier request before the right one.
func TestStaleAnswer(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	c.conn = &staleConn{transport: c.conn}
	if info, err := c.Info(t.Context()); err != nil || info.ABI != 1 {
		t.Errorf("with a stale answer before: %+v, %v", info, err)
	}
}

// staleConn receives one message of another sequence number first.
type staleConn struct {
	transport
	done bool
}

func (s *staleConn) Receive() ([]genetlink.Message, []netlink.Message, error) {
	if !s.done {
		s.done = true
		return []genetlink.Message{{}}, []netlink.Message{{Header: netlink.Header{Sequence: 1}}}, nil
	}
	return s.transport.Receive()
}
