// This file owns the reading of a spec: the part of YNL that the Go files are
// made from. Whatever else a spec may say is refused instead of ignored, so
// that C and Go cannot drift apart over a key that only one generator knows.

package main

import (
	"bytes"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// spec is one netlink family.
type spec struct {
	Name         string       `yaml:"name"`
	Protocol     string       `yaml:"protocol"`
	KernelPolicy string       `yaml:"kernel-policy"`
	UAPIHeader   string       `yaml:"uapi-header"`
	Doc          string       `yaml:"doc"`
	Definitions  []definition `yaml:"definitions"`
	Sets         []attrSet    `yaml:"attribute-sets"`
	Operations   struct {
		List []operation `yaml:"list"`
	} `yaml:"operations"`
	Groups struct {
		List []struct {
			Name string `yaml:"name"`
		} `yaml:"list"`
	} `yaml:"mcast-groups"`
}

// definition is a constant or an enum.
type definition struct {
	Type    string  `yaml:"type"`
	Name    string  `yaml:"name"`
	Value   uint32  `yaml:"value"`
	Doc     string  `yaml:"doc"`
	Entries []named `yaml:"entries"`
}

// named is an entry of an enum.
type named struct {
	Name string `yaml:"name"`
	Doc  string `yaml:"doc"`
}

// attrSet is a set of attributes; their types count from 1 in order.
type attrSet struct {
	Name       string      `yaml:"name"`
	Doc        string      `yaml:"doc"`
	Attributes []attribute `yaml:"attributes"`
}

// attribute is one member of a set. The Go files need its name and doc; the
// rest is read so that a spec which uses it is not refused.
type attribute struct {
	Name      string         `yaml:"name"`
	Type      string         `yaml:"type"`
	Doc       string         `yaml:"doc"`
	Enum      string         `yaml:"enum"`
	ByteOrder string         `yaml:"byte-order"`
	Nested    string         `yaml:"nested-attributes"`
	Multi     bool           `yaml:"multi-attr"`
	Checks    map[string]any `yaml:"checks"`
}

// operation is one command; commands count from 1 in order, events included.
type operation struct {
	Name  string    `yaml:"name"`
	Doc   string    `yaml:"doc"`
	Set   string    `yaml:"attribute-set"`
	Group string    `yaml:"mcgrp"`
	Flags []string  `yaml:"flags"`
	Do    yaml.Node `yaml:"do"`
	Dump  yaml.Node `yaml:"dump"`
	Event yaml.Node `yaml:"event"`
}

// readSpec reads and checks one spec.
func readSpec(path string) (*spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	s, err := parseSpec(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// parseSpec decodes a spec and refuses keys and kinds it does not know.
func parseSpec(text []byte) (*spec, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var s spec
	if err := dec.Decode(&s); err != nil {
		return nil, err
	}
	if s.Protocol != "genetlink-legacy" {
		return nil, fmt.Errorf("protocol %q: want genetlink-legacy, whose numbering is assumed here", s.Protocol)
	}
	for _, d := range s.Definitions {
		if d.Type != "const" && d.Type != "enum" {
			return nil, fmt.Errorf("definition %s: type %q is not supported", d.Name, d.Type)
		}
	}
	return &s, nil
}

// Requested reports whether a set is the top level of some request. Only of
// such a set can the kernel name an attribute in an error.
func (s *spec) Requested(set string) bool {
	for _, op := range s.Operations.List {
		if op.Set == set && !op.Do.IsZero() {
			return true
		}
	}
	return false
}
