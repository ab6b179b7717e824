package e2e

// This file owns what the fuzzers know of the interface: the specs, read and
// numbered as the kernel numbers them. No attribute is listed a second time.

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rxpost/rxpost/spec"
)

// nlFamily is one netlink family.
type nlFamily struct {
	name string
	id   uint16
	ops  []*nlOp
}

// nlOp is a command that can be asked for.
type nlOp struct {
	family   *nlFamily
	name     string
	number   byte
	admin    bool
	do, dump bool
	request  []*nlAttr // what a request may have
	reply    []*nlAttr // what an answer may have
}

// nlAttr is one attribute.
type nlAttr struct {
	name   string
	typ    string
	number uint16
	be     bool
	multi  bool
	nested []*nlAttr

	bounded bool   // lo and hi are known
	lo, hi  uint64 // least and greatest value
}

// ynl is the part of a spec that is looked at here.
type ynl struct {
	Definitions []struct {
		Name    string      `yaml:"name"`
		Entries []yaml.Node `yaml:"entries"`
	} `yaml:"definitions"`
	Sets []struct {
		Name       string    `yaml:"name"`
		Attributes []ynlAttr `yaml:"attributes"`
	} `yaml:"attribute-sets"`
	Operations struct {
		List []ynlOp `yaml:"list"`
	} `yaml:"operations"`
}

type ynlAttr struct {
	Name   string `yaml:"name"`
	Type   string `yaml:"type"`
	Enum   string `yaml:"enum"`
	Order  string `yaml:"byte-order"`
	Nested string `yaml:"nested-attributes"`
	Multi  bool   `yaml:"multi-attr"`
}

type ynlOp struct {
	Name  string   `yaml:"name"`
	Set   string   `yaml:"attribute-set"`
	Flags []string `yaml:"flags"`
	Do    *ynlCall `yaml:"do"`
	Dump  *ynlCall `yaml:"dump"`
}

type ynlCall struct {
	Request ynlList `yaml:"request"`
	Reply   ynlList `yaml:"reply"`
}

type ynlList struct {
	Attributes []string `yaml:"attributes"`
}

// familyNames are all families, the receiver's first.
func familyNames() []string { return []string{"rxpost", "rxpost_send"} }

// readFamilies reads the specs. The families' numbers are the kernel's to say.
func readFamilies(ids map[string]uint16) ([]*nlFamily, error) {
	var families []*nlFamily
	for _, name := range familyNames() {
		text, err := spec.File(name)
		if err != nil {
			return nil, err
		}
		var s ynl
		if err := yaml.Unmarshal(text, &s); err != nil {
			return nil, err
		}
		families = append(families, s.family(name, ids[name]))
	}
	return families, nil
}

// loadedFamilies is readFamilies with the numbers that the kernel gave.
func loadedFamilies(t *testing.T) []*nlFamily {
	t.Helper()
	ids := map[string]uint16{}
	for _, name := range familyNames() {
		ids[name] = dialFamily(t, name).family
	}
	families, err := readFamilies(ids)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func (s *ynl) family(name string, id uint16) *nlFamily {
	f := &nlFamily{name: name, id: id}
	for i, op := range s.Operations.List {
		if op.Do == nil && op.Dump == nil {
			continue // an event
		}
		o := &nlOp{family: f, name: op.Name, number: byte(i + 1), admin: slices.Contains(op.Flags, "admin-perm"),
			do: op.Do != nil, dump: op.Dump != nil}
		set := s.set(op.Set)
		if op.Do != nil {
			o.request, o.reply = pick(set, op.Do.Request), pick(set, op.Do.Reply)
		}
		f.ops = append(f.ops, o)
	}
	return f
}

// set makes the attributes of a set, with those nested in them.
func (s *ynl) set(name string) []*nlAttr {
	for _, set := range s.Sets {
		if set.Name != name {
			continue
		}
		var attrs []*nlAttr
		for i, a := range set.Attributes {
			attr := &nlAttr{name: a.Name, typ: a.Type, number: uint16(i + 1), be: a.Order == "big-endian", multi: a.Multi}
			if a.Nested != "" {
				attr.nested = s.set(a.Nested)
			}
			for _, d := range s.Definitions {
				if d.Name == a.Enum && a.Enum != "" {
					attr.bounded, attr.hi = true, uint64(len(d.Entries)-1)
				}
			}
			attrs = append(attrs, attr)
		}
		return attrs
	}
	return nil
}

func pick(set []*nlAttr, list ynlList) []*nlAttr {
	var attrs []*nlAttr
	for _, a := range set {
		if slices.Contains(list.Attributes, a.name) {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

// size is how many bytes a value has, or -1 where that is open.
func (a *nlAttr) size() int {
	switch a.typ {
	case "flag":
		return 0
	case "u16":
		return 2
	case "u32":
		return 4
	case "u64":
		return 8
	}
	return -1
}

// isID reports whether a is the number of an object.
func (a *nlAttr) isID() bool {
	return a.typ == "u32" && (a.name == "id" || strings.HasSuffix(a.name, "-id"))
}

// key reports whether a names what a request is about.
func (a *nlAttr) key() bool {
	return a.isID() || a.typ == "string" && (a.name == "name" || strings.HasSuffix(a.name, "-name"))
}

// makes reports whether op makes an object.
func (op *nlOp) makes() bool { return strings.HasSuffix(op.name, "-new") }

// required are the attributes that a request cannot do without: name and address
// of what is made. Other requests want one that says what they are about.
func (op *nlOp) required() []*nlAttr {
	var attrs []*nlAttr
	for _, a := range op.request {
		if op.makes() && (a.name == "name" || a.typ == "binary" || a.be) {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

// keys are the attributes of which one has to say what a request is about.
func (op *nlOp) keys() []*nlAttr {
	var attrs []*nlAttr
	for _, a := range op.request {
		if !op.makes() && a.key() {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

// named finds an attribute by name.
func named(attrs []*nlAttr, name string) *nlAttr {
	for _, a := range attrs {
		if a.name == name {
			return a
		}
	}
	return nil
}
