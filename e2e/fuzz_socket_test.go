package e2e

// This file owns the fuzzers' sockets: many requests in one system call, and what
// comes back, without a library that would refuse to send or to read something.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// fuzzSocket is a netlink socket.
type fuzzSocket struct {
	fd  int
	seq uint32
	buf []byte
}

// answer is what came back for one request.
type answer struct {
	replies  [][]byte // bodies of what is no status
	open     bool     // a dump that has not ended
	ended    bool     // there is a status
	errno    unix.Errno
	sentence string
	offset   uint32 // of the attribute at fault, from the start of the request
}

// bigBuffer is room for the answers to a batch and the first part of a dump.
const bigBuffer = 4 << 20

// openFuzz opens a socket on which an answer has to come within a bound.
func openFuzz(bound time.Duration) (*fuzzSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, err
	}
	s := &fuzzSocket{fd: fd, seq: 1, buf: make([]byte, 64<<10)}
	timeout := unix.NsecToTimeval(bound.Nanoseconds())
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1),
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1),
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
	)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bigBuffer) != nil {
		// Whoever may not ask for that has the usual, and sends less at once.
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bigBuffer)
	}
	return s, err
}

func (s *fuzzSocket) close() error { return unix.Close(s.fd) }

// frame gives a request its netlink header and the next sequence number.
func (s *fuzzSocket) frame(m *fuzzMessage) (seq uint32, raw []byte) {
	s.seq++
	raw = binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(m.body)))
	raw = binary.NativeEndian.AppendUint16(raw, m.family.id)
	raw = binary.NativeEndian.AppendUint16(raw, m.flags)
	raw = binary.NativeEndian.AppendUint32(raw, s.seq)
	raw = binary.NativeEndian.AppendUint32(raw, 0)
	raw = append(raw, m.body...)
	return s.seq, append(raw, make([]byte, -len(raw)&3)...)
}

func (s *fuzzSocket) send(datagram []byte) error {
	return unix.Sendto(s.fd, datagram, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// receive reads one datagram into answers.
func (s *fuzzSocket) receive(answers map[uint32]*answer) error {
	n, _, flags, _, err := unix.Recvmsg(s.fd, s.buf, nil, 0)
	if err != nil {
		return err
	}
	if flags&unix.MSG_TRUNC != 0 {
		return fmt.Errorf("an answer of more than %d bytes", len(s.buf))
	}
	return sortAnswers(bytes.Clone(s.buf[:n]), answers)
}

// sortAnswers takes a datagram apart.
func sortAnswers(b []byte, answers map[uint32]*answer) error {
	for len(b) > 0 {
		if len(b) < unix.NLMSG_HDRLEN {
			return fmt.Errorf("%d bytes are no message: %x", len(b), b)
		}
		length := int(binary.NativeEndian.Uint32(b))
		if length < unix.NLMSG_HDRLEN || length > len(b) {
			return fmt.Errorf("a message says it has %d bytes of %d", length, len(b))
		}
		typ, flags := binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:])
		seq := binary.NativeEndian.Uint32(b[8:])
		a := answers[seq]
		if a == nil {
			a = &answer{}
			answers[seq] = a
		}
		a.take(typ, flags, b[unix.NLMSG_HDRLEN:length])
		b = b[min((length+3)&^3, len(b)):]
	}
	return nil
}

// take adds one message to an answer.
func (a *answer) take(typ, flags uint16, body []byte) {
	if typ != unix.NLMSG_ERROR && typ != unix.NLMSG_DONE {
		a.replies = append(a.replies, body)
		a.open = flags&unix.NLM_F_MULTI != 0
		return
	}
	a.ended, a.open = true, false
	skip := 4 // the error number
	if typ == unix.NLMSG_ERROR {
		skip += unix.NLMSG_HDRLEN // and the header of the request
	}
	if len(body) >= 4 {
		a.errno = unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
	}
	const tlvs = 0x200 // NLM_F_ACK_TLVS
	if flags&tlvs == 0 || len(body) < skip {
		return
	}
	walkAttrs(body[skip:], func(typ uint16, value []byte) {
		switch {
		case typ == unix.NLMSGERR_ATTR_MSG:
			a.sentence = string(bytes.TrimRight(value, "\x00"))
		case typ == unix.NLMSGERR_ATTR_OFFS && len(value) == 4:
			a.offset = binary.NativeEndian.Uint32(value)
		}
	})
}

// typeMask is what of an attribute's type is not a flag.
const typeMask = 0x3fff

// walkAttrs visits attributes, and returns false if there is something else.
func walkAttrs(b []byte, visit func(typ uint16, value []byte)) bool {
	for len(b) >= 4 {
		length := int(binary.NativeEndian.Uint16(b))
		if length < 4 || length > len(b) {
			return false
		}
		visit(binary.NativeEndian.Uint16(b[2:])&typeMask, b[4:length])
		b = b[min((length+3)&^3, len(b)):]
	}
	return len(b) == 0
}

// exchange sends requests in one system call and returns their answers. Each has
// been answered, or will never be, when a request that follows is. The last torn
// bytes are not sent; a request that they were part of does not count as sent.
func (s *fuzzSocket) exchange(batch []*fuzzMessage, last *fuzzMessage, torn int) (map[*fuzzMessage]*answer, error) {
	var datagram []byte
	seqs, ends := map[uint32]*fuzzMessage{}, map[uint32]int{}
	for _, m := range batch {
		seq, raw := s.frame(m)
		seqs[seq], ends[seq] = m, len(datagram)+unix.NLMSG_HDRLEN+len(m.body)
		datagram = append(datagram, raw...)
	}
	datagram = datagram[:max(len(datagram)-torn, 1)]
	for seq, end := range ends {
		if end > len(datagram) {
			delete(seqs, seq)
		}
	}
	end, raw := s.frame(last)
	if err := errors.Join(s.send(datagram), s.send(raw)); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	answers := map[uint32]*answer{}
	for answers[end] == nil || !answers[end].ended || opened(answers) {
		if err := s.receive(answers); err != nil {
			return nil, fmt.Errorf("receive: %w", err)
		}
	}
	byMessage := map[*fuzzMessage]*answer{}
	for seq, m := range seqs {
		byMessage[m] = &answer{}
		if a := answers[seq]; a != nil {
			byMessage[m] = a
		}
	}
	for seq, a := range answers {
		if seqs[seq] == nil && seq != end {
			return nil, fmt.Errorf("an answer to nothing: number %d, %+v", seq, a)
		}
	}
	return byMessage, nil
}

// opened reports whether a dump has begun and not ended.
func opened(answers map[uint32]*answer) bool {
	for _, a := range answers {
		if a.open {
			return true
		}
	}
	return false
}
