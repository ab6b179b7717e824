package e2e

// This file owns generic netlink as it is, below ctl: messages that ctl would
// never send, and events that it has no reader for.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// Numbers of the ABI, from kmod/uapi.
const (
	cmdReceiverGet = 1
	cmdReceiverNew = 2
	cmdReceiverSet = 3
	cmdReceiverDel = 4
	cmdConnGet     = 5
	cmdStatsGet    = 6
	cmdInfoGet     = 7
	cmdEvent       = 8

	attrID      = 2
	attrName    = 3
	attrAddr    = 6
	attrPort    = 7
	attrDepth   = 8
	attrSegment = 32
	attrCPU     = 35
	attrAllow   = 36

	attrRunReason = 24
)

func dialGenl(t *testing.T) *genetlink.Conn {
	t.Helper()
	c, err := genetlink.Dial(&netlink.Config{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// group is a socket that joined a family's group.
type group struct {
	t    *testing.T
	conn *genetlink.Conn
	msgs []genetlink.Message
}

func joinGroup(t *testing.T, family, name string) *group {
	t.Helper()
	c := dialGenl(t)
	f, err := c.GetFamily(family)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range f.Groups {
		if g.Name != name {
			continue
		}
		if err := c.JoinGroup(g.ID); err != nil {
			t.Fatal(err)
		}
		return &group{t: t, conn: c}
	}
	t.Fatalf("family %s has no group %s", family, name)
	return nil
}

func (g *group) close() {
	if err := g.conn.Close(); err != nil {
		g.t.Error(err)
	}
}

// sentence returns the reason in the next event of rxpost_send.
func (g *group) sentence() string {
	g.t.Helper()
	if err := g.conn.SetReadDeadline(time.Now().Add(slack)); err != nil {
		g.t.Fatal(err)
	}
	for len(g.msgs) == 0 {
		msgs, _, err := g.conn.Receive()
		if err != nil {
			g.t.Fatal(err)
		}
		g.msgs = msgs
	}
	ad, err := netlink.NewAttributeDecoder(g.msgs[0].Data)
	if err != nil {
		g.t.Fatal(err)
	}
	g.msgs = g.msgs[1:]
	for ad.Next() {
		if ad.Type() == attrRunReason {
			return ad.String()
		}
	}
	return ""
}

// rawAdd asks for receiver r0 on the rig's address with attributes added by
// more.
func rawAdd(t *testing.T, more func(*netlink.AttributeEncoder)) error {
	t.Helper()
	c := dialGenl(t)
	defer c.Close()
	f, err := c.GetFamily("rxpost")
	if err != nil {
		t.Fatal(err)
	}
	ae := netlink.NewAttributeEncoder()
	ae.String(attrName, "r0")
	ae.Bytes(attrAddr, listenAddr.Addr().AsSlice())
	ae.Bytes(attrPort, binary.BigEndian.AppendUint16(nil, listenAddr.Port()))
	more(ae)
	data, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	msg := genetlink.Message{Header: genetlink.Header{Command: cmdReceiverNew, Version: f.Version}, Data: data}
	if _, err = c.Execute(msg, f.ID, netlink.Request|netlink.Acknowledge); err != nil {
		return fmt.Errorf("raw add: %w", err)
	}
	return nil
}

// sentenceOf returns the kernel's sentence in an error.
func sentenceOf(err error) string {
	if e, ok := errors.AsType[*netlink.OpError](err); ok {
		return e.Message
	}
	return ""
}
