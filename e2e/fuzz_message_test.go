package e2e

// This file owns the making of requests: which command, with what in it. A fuzzer
// draws all of it from its own random numbers, so a seed repeats it, but for the
// numbers of objects, which the kernel gives.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"

	"golang.org/x/sys/unix"
)

// What a request deserves, whatever the state of things.
type verdict string

const (
	mustTake   verdict = "taken"   // nothing is wrong with it by itself
	mustRefuse verdict = "refused" // it must be refused, in words
	mayBoth    verdict = "unknown" // either is right
)

// fuzzMessage is one request, but for its sequence number.
type fuzzMessage struct {
	index   int
	family  *nlFamily
	op      *nlOp // nil if there is no such command
	flags   uint16
	body    []byte // generic netlink header and attributes
	verdict verdict
	what    string
}

// String is all it takes to send it again.
func (m *fuzzMessage) String() string {
	name := "no command"
	if m.op != nil {
		name = m.op.name
	}
	return fmt.Sprintf("message %d, %s %s, flags %#x, %s, to be %s: %x",
		m.index, m.family.name, name, m.flags, m.what, m.verdict, m.body)
}

// dumps reports whether the kernel takes it for a dump.
func (m *fuzzMessage) dumps() bool { return m.flags&unix.NLM_F_DUMP == unix.NLM_F_DUMP }

// Names and ports that the fuzzers share: what one makes others change and
// delete.
const (
	fuzzObjects  = 8
	fuzzPort     = 8000
	oddsOfADump  = 64
	oddsOfAFlag  = 16
	maxAttribute = 200 // beyond all that exist
)

// piece is one attribute of a request in the making.
type piece struct {
	attr *nlAttr
	raw  []byte
}

// fuzzer makes requests.
type fuzzer struct {
	rng      *rand.Rand
	families []*nlFamily
	ids      map[string][]uint32 // of objects, by family
	spare    func(*fuzzMessage) bool
	made     int
}

func newFuzzer(seed, stream uint64, families []*nlFamily) *fuzzer {
	return &fuzzer{rng: rand.New(rand.NewPCG(seed, stream)), families: families, ids: map[string][]uint32{},
		spare: func(*fuzzMessage) bool { return false }}
}

// saw remembers the number of an object.
func (f *fuzzer) saw(family string, id uint32) {
	const most = 32
	f.ids[family] = append(f.ids[family], id)
	if ids := f.ids[family]; len(ids) > most {
		f.ids[family] = ids[len(ids)-most:]
	}
}

// odds is true once in n times.
func (f *fuzzer) odds(n int) bool { return f.rng.IntN(n) == 0 }

func choose[T any](f *fuzzer, from []T) T { return from[f.rng.IntN(len(from))] }

// message makes a request, and another one if that is about what is to be spared.
func (f *fuzzer) message() *fuzzMessage {
	for {
		m := f.draw()
		f.made++
		if !f.spare(m) {
			return m
		}
	}
}

func (f *fuzzer) draw() *fuzzMessage {
	family := choose(f, f.families)
	op := choose(f, family.ops)
	m := &fuzzMessage{index: f.made, family: family, op: op, flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK, verdict: mustTake, what: "valid"}
	if op.dump && (!op.do || f.odds(oddsOfADump)) {
		m.flags |= unix.NLM_F_DUMP
	}
	pieces := f.valid(op, m.dumps())
	m.body = genlHeader(op.number)
	if f.odds(2) {
		f.spoil(m, pieces)
	} else {
		m.body = append(m.body, f.shuffled(pieces)...)
	}
	if f.odds(oddsOfAFlag) {
		f.reflag(m)
	}
	return m
}

func genlHeader(cmd byte) []byte { return []byte{cmd, 1, 0, 0} }

// reflag changes the flags of the netlink header.
func (f *fuzzer) reflag(m *fuzzMessage) {
	const all = unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_ECHO | unix.NLM_F_DUMP | unix.NLM_F_CREATE | unix.NLM_F_APPEND
	asked := m.dumps()
	switch f.rng.IntN(4) {
	case 0:
		m.flags |= unix.NLM_F_ECHO
	case 1:
		m.flags &^= unix.NLM_F_ACK
	case 2:
		m.flags = uint16(f.rng.Uint32()) & all
	case 3:
		m.flags |= 1 << f.rng.IntN(16)
	}
	// A dump is of everything: it needs none of what was left out.
	if m.dumps() && !asked && strings.HasSuffix(m.what, leftOut) {
		m.verdict = mayBoth
	}
}

// valid makes attributes that are right, each by itself.
func (f *fuzzer) valid(op *nlOp, dump bool) []piece {
	var pieces []piece
	must := op.required()
	if keys := op.keys(); len(keys) > 0 && !dump {
		must = []*nlAttr{choose(f, keys)}
		if index := named(op.request, "index"); index != nil {
			must = append(must, index)
		}
	}
	for _, a := range must {
		pieces = append(pieces, f.piece(a))
	}
	if op.makes() && !f.odds(4) {
		modest := f.modest(op)
		pieces = append(pieces, modest...)
		for _, p := range modest {
			must = append(must, p.attr)
		}
	}
	few := 1 << f.rng.IntN(6)
	for _, a := range op.request {
		if named(must, a.name) != nil || !f.odds(min(few, len(op.request))) {
			continue
		}
		pieces = append(pieces, f.piece(a))
		for a.multi && f.odds(2) {
			pieces = append(pieces, f.piece(a))
		}
	}
	return pieces
}

// modest makes an object that leaves room for others: of memory, and of time.
func (f *fuzzer) modest(op *nlOp) []piece {
	var pieces []piece
	for _, name := range []string{"depth", "max-conns", "in-flight", "rate"} {
		if a := named(op.request, name); a != nil {
			pieces = append(pieces, piece{a, encodeAttr(a, a.encode(uint64(1+f.rng.IntN(16))))})
		}
	}
	return pieces
}

func (f *fuzzer) shuffled(pieces []piece) []byte {
	var body []byte
	for _, i := range f.rng.Perm(len(pieces)) {
		body = append(body, pieces[i].raw...)
	}
	return body
}

func (f *fuzzer) piece(a *nlAttr) piece { return piece{a, encodeAttr(a, f.value(a))} }

// encodeAttr gives a value its header.
func encodeAttr(a *nlAttr, value []byte) []byte {
	if a.typ == "nest" {
		return nest(a.number, value)
	}
	return attr(a.number, value...)
}

// value makes what an attribute may have.
func (f *fuzzer) value(a *nlAttr) []byte {
	switch a.typ {
	case "nest":
		return f.inside(a)
	case "binary":
		return f.address()
	case "string":
		return append([]byte(f.text(a)), 0)
	}
	if a.be {
		return binary.BigEndian.AppendUint16(nil, f.port())
	}
	return a.encode(f.figure(a))
}

// encode gives a number the bytes it takes.
func (a *nlAttr) encode(n uint64) []byte {
	switch a.size() {
	case 2:
		return binary.NativeEndian.AppendUint16(nil, uint16(n))
	case 4:
		return binary.NativeEndian.AppendUint32(nil, uint32(n))
	case 8:
		return binary.NativeEndian.AppendUint64(nil, n)
	}
	return nil
}

// inside makes what a nest may have: some of its attributes, or none.
func (f *fuzzer) inside(a *nlAttr) []byte {
	var parts [][]byte
	for _, n := range a.nested {
		if n.typ != "pad" && !f.odds(4) {
			parts = append(parts, f.piece(n).raw)
		}
	}
	return bytes.Join(parts, nil)
}

func (f *fuzzer) address() []byte {
	switch f.rng.IntN(12) {
	case 0:
		return []byte{10, 9, 0, byte(f.rng.IntN(4))}
	case 1:
		return []byte{byte(f.rng.Uint32()), byte(f.rng.Uint32()), byte(f.rng.Uint32()), byte(f.rng.Uint32())}
	case 2:
		return append([]byte{0xfd}, make([]byte, 15)...)
	case 3:
		return append(make([]byte, 15), byte(f.rng.IntN(2)))
	}
	return listenAddr.Addr().AsSlice()
}

func (f *fuzzer) port() uint16 {
	if f.odds(16) {
		return uint16(f.rng.Uint32())
	}
	return uint16(fuzzPort + f.rng.IntN(fuzzObjects))
}

func (f *fuzzer) text(a *nlAttr) string {
	if a.name == "device" {
		return choose(f, []string{deviceName, deviceName, "rxe7", ""})
	}
	if f.odds(16) {
		return choose(f, []string{"", "%s%n", "../..", "ré", "\x01", string(bytes.Repeat([]byte("n"), 31)), string(bytes.Repeat([]byte("n"), 32)), string(bytes.Repeat([]byte("n"), 5000))})
	}
	return fmt.Sprintf("f%d", f.rng.IntN(fuzzObjects))
}

// figure makes a number: the number of an object, or one within bounds.
func (f *fuzzer) figure(a *nlAttr) uint64 {
	if a.isID() {
		return f.id(a)
	}
	lo, hi := uint64(0), uint64(math.MaxUint64)
	if a.size() < 8 {
		hi = math.MaxUint32
	}
	if a.bounded {
		lo, hi = a.lo, a.hi
	}
	switch f.rng.IntN(8) {
	case 0:
		return lo
	case 1:
		return hi
	case 2:
		return lo + 1
	}
	// Small ones as often as large ones, of which most are too much together.
	span := hi - lo
	return lo + f.rng.Uint64()&(1<<f.rng.IntN(bits.Len64(span)+1)-1)%max(span, 1)
}

func (f *fuzzer) id(a *nlAttr) uint64 {
	for _, family := range f.families {
		for _, op := range family.ops {
			if ids := f.ids[family.name]; len(ids) > 0 && named(op.request, a.name) == a && !f.odds(8) {
				return uint64(choose(f, ids))
			}
		}
	}
	return choose(f, []uint64{0, 1, 2, uint64(f.rng.IntN(1000)), math.MaxInt32, math.MaxUint32 - 1, math.MaxUint32})
}
