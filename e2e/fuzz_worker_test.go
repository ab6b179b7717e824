package e2e

// This file owns a fuzzer at work: batches of requests, sockets that come and go,
// and what must not be touched.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fuzzWorker sends the requests of one fuzzer and judges the answers.
type fuzzWorker struct {
	*fuzzer
	caller
	name    string
	bound   time.Duration
	largest int // batch
	last    *fuzzMessage
	sock    *fuzzSocket
	slowest time.Duration
	tally   tally
}

// tally counts answers by command and error, of requests whose headers are right.
type tally map[string]map[unix.Errno]int

func (t tally) add(op string, errno unix.Errno, n int) {
	if t[op] == nil {
		t[op] = map[unix.Errno]int{}
	}
	t[op][errno] += n
}

// merge adds another tally.
func (t tally) merge(other tally) {
	for op, counts := range other {
		for errno, n := range counts {
			t.add(op, errno, n)
		}
	}
}

// newFuzzWorker makes a fuzzer that asks as this caller. An exchange of at most
// so many requests that takes longer than bound is a failure.
func newFuzzWorker(name string, f *fuzzer, c caller, bound time.Duration) *fuzzWorker {
	w := &fuzzWorker{fuzzer: f, caller: c, name: name, bound: bound, largest: 32, tally: tally{}}
	if !c.admin {
		w.largest = 8
	}
	for _, op := range f.families[0].ops {
		if op.name == "info-get" {
			w.last = &fuzzMessage{family: op.family, op: op, flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK, body: genlHeader(op.number)}
		}
	}
	return w
}

// work goes on until the context ends or an answer is wrong.
func (w *fuzzWorker) work(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, w.hangUp()) }()
	for ctx.Err() == nil {
		if w.sock != nil && w.odds(100) {
			if err := w.hangUp(); err != nil {
				return err
			}
		}
		if err := w.batch(); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// hangUp closes the socket, and so ends the runs that were started on it.
func (w *fuzzWorker) hangUp() error {
	if w.sock == nil {
		return nil
	}
	err := w.sock.close()
	w.sock = nil
	return err
}

// batch sends some requests. A dump is the last: only one can go on at a time.
func (w *fuzzWorker) batch() error {
	if w.sock == nil {
		s, err := openFuzz(w.bound)
		if err != nil {
			return err
		}
		w.sock = s
	}
	var batch []*fuzzMessage
	for n := 1 + w.rng.IntN(w.largest); len(batch) < n; {
		m := w.message()
		batch = append(batch, m)
		if m.dumps() {
			break
		}
	}
	torn := 0
	if w.odds(32) {
		torn = w.rng.IntN(200)
	}
	began := time.Now()
	answers, err := w.sock.exchange(batch, w.last, torn)
	w.slowest = max(w.slowest, time.Since(began))
	if err != nil {
		return fmt.Errorf("%w, after %v, of:\n%s", err, time.Since(began), lines(batch))
	}
	return w.judgeAll(answers)
}

func (w *fuzzWorker) judgeAll(answers map[*fuzzMessage]*answer) error {
	for m, a := range answers {
		if err := w.judge(m, a); err != nil {
			return fmt.Errorf("%s:\n%w", m, err)
		}
		if _, goesOn := w.framed(m); goesOn {
			w.tally.add(m.op.name, a.errno, 1)
		}
		for _, reply := range a.replies {
			if id, ok := idIn(m.op, reply); ok {
				w.saw(m.family.name, id)
			}
		}
	}
	return nil
}

func lines(batch []*fuzzMessage) string {
	var text string
	for _, m := range batch {
		text += m.String() + "\n"
	}
	return text
}

// protected are objects that no request may name: by number, up to and with
// these, by name, and by port.
type protected struct {
	receivers, runs uint32
	names           []string
	ports           [][2]uint16
}

// spares reports whether a request names one of them. Wherever an attribute can
// be is looked at, so it does not matter what else is wrong with the request.
func (p protected) spares(m *fuzzMessage) bool {
	const number, name, port = 2, 3, 4 // in whatever set a request names an object by them
	for at := unix.GENL_HDRLEN; at+8 <= len(m.body); at += 4 {
		typ := binary.NativeEndian.Uint16(m.body[at+2:]) & typeMask
		value := m.body[at+4:]
		n := binary.NativeEndian.Uint32(value)
		switch {
		case m.family.name == "rxpost" && typ == number && n <= p.receivers,
			m.family.name == "rxpost" && typ == name && p.named(value),
			m.family.name == "rxpost_send" && typ == number && n <= p.runs,
			m.family.name == "rxpost_send" && typ == port && p.listens(binary.BigEndian.Uint16(value)):
			return true
		}
	}
	return false
}

func (p protected) named(value []byte) bool {
	return slices.ContainsFunc(p.names, func(name string) bool {
		return len(value) > len(name) && string(value[:len(name)+1]) == name+"\x00"
	})
}

func (p protected) listens(port uint16) bool {
	return slices.ContainsFunc(p.ports, func(r [2]uint16) bool { return r[0] <= port && port <= r[1] })
}

// learn finds the bounds of numbers that are not in the spec: the refusal of the
// largest number tells them.
func learn(t *testing.T, families []*nlFamily) {
	t.Helper()
	s, err := openFuzz(slack)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close() // and with it runs that were taken
	f := newFuzzer(0, 0, families)
	for _, family := range families {
		for _, op := range family.ops {
			if n := learnOf(t, s, f, op); op.makes() && n < 5 {
				t.Fatalf("%s: the bounds of %d numbers are known; their refusals have other words now?", op.name, n)
			}
		}
	}
}

// learnOf learns from one command and returns of how many attributes bounds are
// known.
func learnOf(t *testing.T, s *fuzzSocket, f *fuzzer, op *nlOp) (known int) {
	t.Helper()
	words := regexp.MustCompile(`(?:outside|must be) (\d+) to (\d+)`)
	for _, a := range op.request {
		if !op.makes() || a.typ != "u32" && a.typ != "u64" {
			continue
		}
		m := &fuzzMessage{family: op.family, op: op, flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK, body: genlHeader(op.number)}
		for _, must := range op.required() {
			value := f.value(must)
			switch {
			case must.typ == "string":
				value = []byte("learn\x00")
			case must.typ == "binary":
				value = listenAddr.Addr().AsSlice()
			}
			m.body = append(m.body, encodeAttr(must, value)...)
		}
		m.body = append(m.body, encodeAttr(a, a.encode(^uint64(0)))...)
		answers, err := s.exchange([]*fuzzMessage{m}, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := words.FindStringSubmatch(answers[m].sentence); found != nil && !a.bounded {
			a.bounded, a.lo, a.hi = true, mustNumber(t, found[1]), mustNumber(t, found[2])
		}
		if a.bounded {
			known++
			shareBounds(op.family, a)
		}
	}
	return known
}

func mustNumber(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// shareBounds tells the other commands of a family about an attribute.
func shareBounds(family *nlFamily, a *nlAttr) {
	for _, op := range family.ops {
		if same := named(op.request, a.name); same != nil {
			same.bounded, same.lo, same.hi = a.bounded, a.lo, a.hi
		}
	}
}
