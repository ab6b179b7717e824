package e2e

// This file owns what can be wrong with a request.

import (
	"bytes"
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// spoilers are the ways to make a request wrong, or nearly. Each returns false if
// it is not for this one, and else has completed the body.
func spoilers() []func(*fuzzer, *fuzzMessage, []piece) bool {
	return []func(*fuzzer, *fuzzMessage, []piece) bool{
		(*fuzzer).spoilLength, (*fuzzer).spoilLength, (*fuzzer).spoilNumber, (*fuzzer).spoilNumber, (*fuzzer).atBound,
		(*fuzzer).repeat, (*fuzzer).spoilNesting, (*fuzzer).swapped, (*fuzzer).leaveOut, (*fuzzer).spoilType,
		(*fuzzer).cut, (*fuzzer).trail, (*fuzzer).reserved, (*fuzzer).crowd, (*fuzzer).deep, (*fuzzer).version,
		(*fuzzer).flip, (*fuzzer).noise, (*fuzzer).bare, (*fuzzer).command,
	}
}

// spoil makes something wrong, or nearly.
func (f *fuzzer) spoil(m *fuzzMessage, pieces []piece) {
	for {
		if choose(f, spoilers())(f, m, pieces) {
			return
		}
	}
}

// with completes a request of these attributes.
func (f *fuzzer) with(m *fuzzMessage, v verdict, what string, pieces ...piece) bool {
	m.verdict, m.what = v, what
	m.body = append(m.body, f.shuffled(pieces)...)
	return true
}

// replaced is pieces with another value for one of them.
func replaced(pieces []piece, i int, raw []byte) []piece {
	pieces = slices.Clone(pieces)
	pieces[i].raw = raw
	return pieces
}

// spoilLength makes a value a byte shorter or longer than it must be.
func (f *fuzzer) spoilLength(m *fuzzMessage, pieces []piece) bool {
	if len(pieces) == 0 {
		return false
	}
	i := f.rng.IntN(len(pieces))
	a := pieces[i].attr
	value := slices.Clone(pieces[i].raw[4:binary.NativeEndian.Uint16(pieces[i].raw)])
	switch {
	case a.typ == "nest":
		return false
	case a.typ == "string":
		value = bytes.ReplaceAll(value, []byte{0}, nil) // and nothing ends it
	case len(value) > 0 && f.odds(2):
		value = value[:len(value)-1]
	default:
		value = append(value, byte(f.rng.Uint32()))
	}
	return f.with(m, mustRefuse, "length of "+a.name, replaced(pieces, i, attr(a.number, value...))...)
}

// bounded are the attributes of a command with known bounds.
func (f *fuzzer) bounded(m *fuzzMessage) []*nlAttr {
	return slices.DeleteFunc(slices.Clone(m.op.request), func(a *nlAttr) bool { return !a.bounded })
}

// set is pieces with a only once, and of that value.
func set(pieces []piece, a *nlAttr, n uint64) []piece {
	pieces = slices.DeleteFunc(slices.Clone(pieces), func(p piece) bool { return p.attr == a })
	return append(pieces, piece{a, encodeAttr(a, a.encode(n))})
}

// spoilNumber puts one number just out of its bounds.
func (f *fuzzer) spoilNumber(m *fuzzMessage, pieces []piece) bool {
	attrs := f.bounded(m)
	if len(attrs) == 0 {
		return false
	}
	a := choose(f, attrs)
	n := a.hi + 1
	if a.lo > 0 && f.odds(2) {
		n = a.lo - 1
	}
	return f.with(m, mustRefuse, a.name+" out of bounds", set(pieces, a, n)...)
}

// atBound puts one number at one of its bounds.
func (f *fuzzer) atBound(m *fuzzMessage, pieces []piece) bool {
	attrs := f.bounded(m)
	if len(attrs) == 0 {
		return false
	}
	a := choose(f, attrs)
	return f.with(m, mustTake, a.name+" at a bound", set(pieces, a, choose(f, []uint64{a.lo, a.hi}))...)
}

// repeat has an attribute twice; the last one counts, or both.
func (f *fuzzer) repeat(m *fuzzMessage, pieces []piece) bool {
	if len(pieces) == 0 {
		return false
	}
	a := choose(f, pieces).attr
	return f.with(m, mustTake, a.name+" again", append(pieces, f.piece(a))...)
}

// spoilNesting calls a nest none, or something else a nest.
func (f *fuzzer) spoilNesting(m *fuzzMessage, pieces []piece) bool {
	if len(pieces) == 0 {
		return false
	}
	i := f.rng.IntN(len(pieces))
	raw := slices.Clone(pieces[i].raw)
	raw[3] ^= unix.NLA_F_NESTED >> 8
	return f.with(m, mustRefuse, "nesting of "+pieces[i].attr.name, replaced(pieces, i, raw)...)
}

// swapped says that a value is in network order.
func (f *fuzzer) swapped(m *fuzzMessage, pieces []piece) bool {
	if len(pieces) == 0 {
		return false
	}
	i := f.rng.IntN(len(pieces))
	raw := slices.Clone(pieces[i].raw)
	raw[3] |= unix.NLA_F_NET_BYTEORDER >> 8
	return f.with(m, mayBoth, "order of "+pieces[i].attr.name, replaced(pieces, i, raw)...)
}

// leftOut ends what is said of a message that lacks something.
const leftOut = " missing"

// leaveOut has all but what cannot be left out.
func (f *fuzzer) leaveOut(m *fuzzMessage, pieces []piece) bool {
	missing := m.op.keys()
	if required := m.op.required(); len(required) > 0 {
		missing = []*nlAttr{choose(f, required)}
	}
	if len(missing) == 0 || m.dumps() {
		return false
	}
	pieces = slices.DeleteFunc(slices.Clone(pieces), func(p piece) bool { return slices.Contains(missing, p.attr) })
	v := mustRefuse
	if m.op.name == "run-go" {
		v = mayBoth // it is about all held runs of the socket then
	}
	return f.with(m, v, missing[0].name+leftOut, pieces...)
}

// spoilType adds an attribute that the command does not have.
func (f *fuzzer) spoilType(m *fuzzMessage, pieces []piece) bool {
	for {
		n := uint16(f.rng.IntN(maxAttribute))
		if f.odds(8) {
			n = uint16(f.rng.Uint32()) & typeMask
		}
		if !slices.ContainsFunc(m.op.request, func(a *nlAttr) bool { return a.number == n }) {
			return f.with(m, mustRefuse, "unknown attribute", append(pieces, piece{&nlAttr{}, attr(n, make([]byte, f.rng.IntN(9))...)})...)
		}
	}
}

// cut takes bytes off the end.
func (f *fuzzer) cut(m *fuzzMessage, pieces []piece) bool {
	f.with(m, mayBoth, "cut", pieces...)
	m.body = m.body[:len(m.body)-f.rng.IntN(len(m.body))]
	return true
}

// trail adds bytes that make no attribute.
func (f *fuzzer) trail(m *fuzzMessage, pieces []piece) bool {
	f.with(m, mustRefuse, "trailing bytes", pieces...)
	m.body = append(m.body, make([]byte, 1+f.rng.IntN(3))...)
	return true
}

// reserved uses what is reserved in the header.
func (f *fuzzer) reserved(m *fuzzMessage, pieces []piece) bool {
	m.body[2+f.rng.IntN(2)] |= 1 << f.rng.IntN(8)
	return f.with(m, mustRefuse, "reserved", pieces...)
}

// crowd has an attribute more often than any list is long.
func (f *fuzzer) crowd(m *fuzzMessage, pieces []piece) bool {
	attrs := slices.DeleteFunc(slices.Clone(m.op.request), func(a *nlAttr) bool { return !a.multi })
	if len(attrs) == 0 {
		return false
	}
	a := choose(f, attrs)
	for range 65 + f.rng.IntN(1000) {
		pieces = append(pieces, f.piece(a))
	}
	return f.with(m, mustRefuse, "crowd of "+a.name, pieces...)
}

// deep nests a nest in itself.
func (f *fuzzer) deep(m *fuzzMessage, pieces []piece) bool {
	for i, p := range pieces {
		if p.attr.typ != "nest" {
			continue
		}
		raw := p.raw
		for range 1 + f.rng.IntN(200) {
			raw = nest(p.attr.number, raw)
		}
		return f.with(m, mustRefuse, "deep "+p.attr.name, replaced(pieces, i, raw)...)
	}
	return false
}

// version is another one than the family's, which nobody looks at.
func (f *fuzzer) version(m *fuzzMessage, pieces []piece) bool {
	m.body[1] = byte(f.rng.Uint32())
	return f.with(m, mustTake, "version", pieces...)
}

// flip changes bits anywhere.
func (f *fuzzer) flip(m *fuzzMessage, pieces []piece) bool {
	f.with(m, mayBoth, "bits flipped", pieces...)
	for range 1 + f.rng.IntN(8) {
		m.body[f.rng.IntN(len(m.body))] ^= 1 << f.rng.IntN(8)
	}
	m.op = m.family.op(m.body[0])
	return true
}

// noise has attributes of random type, length and bytes.
func (f *fuzzer) noise(m *fuzzMessage, _ []piece) bool {
	m.verdict, m.what = mayBoth, "noise"
	for range f.rng.IntN(20) {
		value := make([]byte, f.rng.IntN(20))
		for i := range value {
			value[i] = byte(f.rng.Uint32())
		}
		typ := uint16(f.rng.IntN(40))
		if f.odds(4) {
			typ |= unix.NLA_F_NESTED
		}
		m.body = append(m.body, attr(typ, value...)...)
	}
	return true
}

// bare has no attribute, or not even all of its header.
func (f *fuzzer) bare(m *fuzzMessage, _ []piece) bool {
	m.verdict, m.what = mayBoth, "bare"
	m.body = m.body[:f.rng.IntN(5)]
	return true
}

// command is one that does not exist.
func (f *fuzzer) command(m *fuzzMessage, pieces []piece) bool {
	m.body[0] = byte(f.rng.Uint32())
	m.op = m.family.op(m.body[0])
	return f.with(m, mayBoth, "another command", pieces...)
}

// op finds a command by number; nil if it is none that can be asked for.
func (f *nlFamily) op(number byte) *nlOp {
	for _, op := range f.ops {
		if op.number == number {
			return op
		}
	}
	return nil
}
