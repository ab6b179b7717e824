// Package schema holds the JSON schemas (draft 2020-12) of what rxctl prints
// with -j: one file a command, named after it, and common.schema.json for what
// several of them print. Where a command goes on until it is interrupted, a
// schema is of one line.
//
// The tests of rxctl validate everything that rxctl prints. rxctl itself does
// not need this package.
package schema

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// suffix ends the name of each file.
const suffix = ".schema.json"

// common is the file that is no command's.
const common = "common"

//go:embed *.schema.json
var files embed.FS

// Set is the compiled schemas, by the name of their command: "recv-show".
type Set map[string]*jsonschema.Schema

// Load compiles all schemas.
func Load() (Set, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, e := range entries {
		if err := add(c, e.Name()); err != nil {
			return nil, err
		}
	}
	set := Set{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), suffix)
		if set[name], err = c.Compile(location(e.Name())); err != nil {
			return nil, err
		}
	}
	delete(set, common)
	return set, nil
}

// location is where a file would be if it was not built in.
func location(file string) string { return "https://github.com/rxpost/rxpost/schema/" + file }

// add hands one file to a compiler.
func add(c *jsonschema.Compiler, file string) error {
	text, err := files.ReadFile(file)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return c.AddResource(location(file), doc)
}

// Validate returns what is wrong with a document that a command printed: one
// JSON value, which may be an array.
func (s Set) Validate(command string, doc []byte) error {
	schema, ok := s[command]
	if !ok {
		return fmt.Errorf("no schema %s%s", command, suffix)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return fmt.Errorf("output of %s is not one JSON value: %w", command, err)
	}
	if err := schema.Validate(value); err != nil {
		return errors.Join(fmt.Errorf("output of %s does not fit %s%s", command, command, suffix), err)
	}
	return nil
}
