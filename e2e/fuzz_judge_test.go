package e2e

// This file owns what is right as an answer.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/ctl"
)

// excuses are the errors with which a request may be refused that is right by
// itself, because of how things are at the moment.
func excuses(op string) []unix.Errno {
	switch op {
	case "receiver-get", "stats-get", "conn-get", "run-get", "run-stop":
		return []unix.Errno{unix.ENOENT}
	case "info-get":
		return []unix.Errno{unix.EPROTONOSUPPORT}
	case "receiver-new":
		return []unix.Errno{unix.EEXIST, unix.EADDRINUSE, unix.EADDRNOTAVAIL, unix.ENODEV, unix.EINVAL, unix.E2BIG, unix.ENOSPC, unix.ERANGE}
	case "receiver-set":
		return []unix.Errno{unix.ENOENT, unix.EBUSY, unix.EOPNOTSUPP, unix.EINVAL, unix.ERANGE, unix.E2BIG}
	case "receiver-del":
		return []unix.Errno{unix.ENOENT, unix.EBUSY}
	case "run-new":
		return []unix.Errno{unix.EINVAL, unix.ENOSPC, unix.EBUSY}
	case "run-go", "rtt-get":
		return []unix.Errno{unix.ENOENT, unix.EINVAL}
	}
	return nil // and the test of the table says so
}

// caller is who asks.
type caller struct {
	admin  bool // has CAP_NET_ADMIN
	absent bool // is where the families are not
}

// framed says with which error the kernel refuses a request for its headers, and
// whether it goes on to look at the attributes.
func (c caller) framed(m *fuzzMessage) (errno unix.Errno, goesOn bool) {
	flags := m.flags &^ (unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_ECHO)
	if m.dumps() {
		flags &^= unix.NLM_F_DUMP
	}
	switch {
	case m.flags&unix.NLM_F_REQUEST == 0:
		return 0, false
	case c.absent:
		return unix.ENOENT, false
	case len(m.body) < unix.GENL_HDRLEN, flags != 0, m.body[2] != 0, m.body[3] != 0:
		return unix.EINVAL, false
	case m.op == nil, m.dumps() && !m.op.dump, !m.dumps() && !m.op.do:
		return unix.EOPNOTSUPP, false
	case m.op.admin && !c.admin:
		return unix.EPERM, false
	}
	return 0, true
}

// privilegeFirst says whether the answer is that of 6.1, which looks at the
// caller's privilege before it looks whether the operation can be done, or dumped.
func (c caller) privilegeFirst(m *fuzzMessage, errno unix.Errno, a *answer) bool {
	return errno == unix.EOPNOTSUPP && m.op != nil && m.op.admin && !c.admin && a.errno == unix.EPERM
}

// judge returns what is wrong with an answer, which is empty if none came.
func (c caller) judge(m *fuzzMessage, a *answer) error {
	errno, goesOn := c.framed(m)
	if !goesOn {
		if a.errno != errno && !c.privilegeFirst(m, errno, a) {
			return fmt.Errorf("answered with %v %q instead of %v", a.errno, a.sentence, errno)
		}
		if errno == 0 && m.flags&unix.NLM_F_ACK != 0 && !a.ended {
			return errors.New("not acknowledged")
		}
		return nil
	}
	return errors.Join(a.ending(m), a.status(m), a.contents(m))
}

// ending checks that there is an answer where one is due.
func (a *answer) ending(m *fuzzMessage) error {
	due := m.dumps() || m.flags&unix.NLM_F_ACK != 0
	switch {
	case due && !a.ended:
		return errors.New("not answered")
	case !due && a.ended && a.errno == 0:
		return errors.New("acknowledged, and nobody asked for that")
	case m.dumps() || a.errno != 0:
		return nil
	case len(m.op.reply) > 0 && len(a.replies) != 1, len(m.op.reply) == 0 && len(a.replies) != 0:
		return fmt.Errorf("%d replies", len(a.replies))
	}
	return nil
}

// status checks the error and its sentence.
func (a *answer) status(m *fuzzMessage) error {
	allowed := slices.Contains(excuses(m.op.name), a.errno)
	switch {
	case a.errno == 0 && m.verdict == mustRefuse:
		return errors.New("taken")
	case a.errno == 0:
		return nil
	case a.sentence == "":
		return fmt.Errorf("refused without a word: %v", a.errno)
	case a.offset != 0 && (a.offset < unix.NLMSG_HDRLEN+unix.GENL_HDRLEN || int(a.offset) >= unix.NLMSG_HDRLEN+len(m.body)):
		return fmt.Errorf("blames what is at %d, which is no attribute: %v %q", a.offset, a.errno, a.sentence)
	case allowed, m.verdict != mustTake && (a.errno == unix.EINVAL || a.errno == unix.ERANGE || a.errno == unix.E2BIG):
		return nil
	}
	return fmt.Errorf("refused with %v %q", a.errno, a.sentence)
}

// contents checks that replies have what the spec says, and that what they say of
// ledgers adds up.
func (a *answer) contents(m *fuzzMessage) error {
	for _, reply := range a.replies {
		if len(reply) < unix.GENL_HDRLEN || reply[0] != m.op.number {
			return fmt.Errorf("no reply: %x", reply)
		}
		if err := conforms(m.op.reply, reply[unix.GENL_HDRLEN:]); err != nil {
			return fmt.Errorf("reply %x: %w", reply, err)
		}
	}
	return nil
}

// conforms checks attributes against those that a spec allows.
func conforms(attrs []*nlAttr, b []byte) error {
	var errs []error
	seen := map[uint16]bool{}
	whole := walkAttrs(b, func(typ uint16, value []byte) {
		i := slices.IndexFunc(attrs, func(a *nlAttr) bool { return a.number == typ })
		switch {
		case i < 0 && typ == 1: // pad, which aligns what follows
		case i < 0:
			errs = append(errs, fmt.Errorf("attribute %d is not the spec's", typ))
		default:
			if seen[typ] && !attrs[i].multi {
				errs = append(errs, fmt.Errorf("%s comes twice", attrs[i].name))
			}
			seen[typ] = true
			errs = append(errs, attrs[i].fits(value))
		}
	})
	if !whole {
		errs = append(errs, errors.New("bytes that are no attribute"))
	}
	return errors.Join(errs...)
}

// fits checks one value.
func (a *nlAttr) fits(value []byte) error {
	switch {
	case a.nested != nil:
		if err := conforms(a.nested, value); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if named(a.nested, "posted") != nil {
			return balanced(a.nested, value)
		}
	case a.typ == "string" && (len(value) == 0 || value[len(value)-1] != 0):
		return fmt.Errorf("%s does not end: %q", a.name, value)
	case a.typ == "binary" && len(value) != 4 && len(value) != 16:
		return fmt.Errorf("%s is no address: %x", a.name, value)
	case a.size() >= 0 && len(value) != a.size():
		return fmt.Errorf("%s has %d bytes, not %d", a.name, len(value), a.size())
	}
	return nil
}

// balanced checks the sums of a ledger.
func balanced(attrs []*nlAttr, b []byte) error {
	n := map[string]uint64{}
	walkAttrs(b, func(typ uint16, value []byte) {
		for _, a := range attrs {
			if a.number == typ {
				n[a.name] = number64(value)
			}
		}
	})
	return ctl.Ledger{Posted: n["posted"], Completed: n["completed"], Flushed: n["flushed"], Failed: n["failed"],
		Reclaimed: n["reclaimed"], Outstanding: uint32(n["outstanding"]), Held: uint32(n["held"]),
		Free: uint32(n["free"]), Slots: uint32(n["slots"])}.Balanced()
}

// number64 reads a number of 4 or 8 bytes.
func number64(value []byte) uint64 {
	switch len(value) {
	case 4:
		return uint64(binary.NativeEndian.Uint32(value))
	case 8:
		return binary.NativeEndian.Uint64(value)
	}
	return 0
}

// idIn finds the number of an object in a reply.
func idIn(op *nlOp, reply []byte) (id uint32, ok bool) {
	for _, a := range op.reply {
		if a.name != "id" || len(reply) < unix.GENL_HDRLEN {
			continue
		}
		walkAttrs(reply[unix.GENL_HDRLEN:], func(typ uint16, value []byte) {
			if typ == a.number && len(value) == 4 {
				id, ok = binary.NativeEndian.Uint32(value), true
			}
		})
	}
	return id, ok
}
