// This file owns event sockets: joining groups, waiting, and saying so when
// something was lost or nothing can come any more.

package ctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// The family that knows the others, and its group that tells of their end.
const (
	ctrlFamilyName = "nlctrl"
	ctrlGroup      = "notify"
)

// errLost says that a socket overflowed and its owner must look for itself.
var errLost = errors.New("events were lost")

// subscription is a socket that joined the events of one family. It also hears
// of the end of that family: a module that is loaded again has other groups, and
// a socket that stayed in the old one would wait for ever.
type subscription struct {
	op      string
	family  string
	conn    transport
	pending []genetlink.Message
}

// subscribe opens a socket of its own for the events of a family.
func (c *Client) subscribe(ctx context.Context, op, family, group string) (*subscription, error) {
	groups, err := c.groups(ctx, op, [][2]string{{family, group}, {ctrlFamilyName, ctrlGroup}})
	if err != nil {
		return nil, err
	}
	conn, err := c.dial()
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	for _, id := range groups {
		err := conn.JoinGroup(id)
		if err == nil {
			continue
		}
		err = errors.Join(err, conn.Close())
		if errors.Is(err, syscall.ENOENT) { // it went with its family just now
			return nil, notLoaded(op, family)
		}
		return nil, &Error{Op: op, Err: err}
	}
	return &subscription{op: op, family: family, conn: conn}, nil
}

// groups finds the numbers of groups, each named with its family.
func (c *Client) groups(ctx context.Context, op string, names [][2]string) ([]uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []uint32
	for _, name := range names {
		// Anew: a module that was loaded again has other groups.
		delete(c.families, name[0])
		f, err := c.resolve(ctx, op, name[0])
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(f.Groups, func(g genetlink.MulticastGroup) bool { return g.Name == name[1] })
		if i < 0 {
			return nil, &Error{Op: op, Err: fmt.Errorf("family %s has no group %s", name[0], name[1])}
		}
		ids = append(ids, f.Groups[i].ID)
	}
	return ids, nil
}

// next waits for one message, until the deadline if that is not zero. Its
// errors are errLost, os.ErrDeadlineExceeded for the deadline, or an [*Error].
func (s *subscription) next(ctx context.Context, deadline time.Time) (genetlink.Message, error) {
	if len(s.pending) == 0 {
		if err := s.receive(ctx, deadline); err != nil {
			return genetlink.Message{}, err
		}
	}
	m := s.pending[0]
	s.pending = s.pending[1:]
	return m, nil
}

// mustLook reports whether err of next says that an event may have been missed,
// or nothing was heard for a while, so that only asking can tell.
func mustLook(err error) bool {
	return errors.Is(err, errLost) || errors.Is(err, os.ErrDeadlineExceeded)
}

// receive fills pending with at least one message.
func (s *subscription) receive(ctx context.Context, deadline time.Time) error {
	release, err := bound(ctx, s.conn, deadline)
	if err != nil {
		return &Error{Op: s.op, Err: err}
	}
	defer release()
	for len(s.pending) == 0 {
		if err := ctx.Err(); err != nil {
			return &Error{Op: s.op, Err: err}
		}
		msgs, headers, err := s.conn.Receive()
		switch {
		case err == nil:
			if s.pending, err = s.events(msgs, headers); err != nil {
				return err
			}
		case ctx.Err() != nil:
			return &Error{Op: s.op, Err: ctx.Err()}
		case errors.Is(err, syscall.ENOBUFS):
			return errLost
		case errors.Is(err, os.ErrDeadlineExceeded):
			return os.ErrDeadlineExceeded
		default:
			return newError(ctx, s.op, nil, nil, err)
		}
	}
	return nil
}

// events returns which of msgs are events, or an error if one says that the
// family is gone.
func (s *subscription) events(msgs []genetlink.Message, headers []netlink.Message) ([]genetlink.Message, error) {
	var events []genetlink.Message
	for i, m := range msgs {
		switch {
		case headers[i].Header.Type != unix.GENL_ID_CTRL:
			events = append(events, m)
		case m.Header.Command == unix.CTRL_CMD_DELFAMILY && familyOf(m) == s.family:
			return nil, &Error{Op: s.op, Message: "the kernel module was unloaded", Err: ErrNotLoaded}
		}
	}
	return events, nil
}

// familyOf returns which family a message of the control family is about.
func familyOf(m genetlink.Message) (name string) {
	// A message that cannot be read is about no family of ours.
	_ = decode(m.Data, func(ad *netlink.AttributeDecoder) {
		if ad.Type() == unix.CTRL_ATTR_FAMILY_NAME {
			name = ad.String()
		}
	})
	return name
}

// Close leaves the groups.
func (s *subscription) Close() error { return s.conn.Close() }
