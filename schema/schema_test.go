// This file tests the schemas themselves: that they load, refuse what they must,
// and say what each key is.

package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	set, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if set["recv-show"] == nil || set[common] != nil {
		t.Errorf("schemas: %v", set)
	}
}

func TestValidate(t *testing.T) {
	set, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]string{
		`[{"rxctl":"v1","abi":1}]`:               "",
		`[{"rxctl":"v1","abi":1,"frob":1}]`:      "frob",
		`[{"rxctl":"v1"}]`:                       "missing property 'abi'",
		`[{"rxctl":"v1","abi":-1}]`:              "minimum",
		`[{"rxctl":"v1","abi":4294967296}]`:      "maximum",
		`[{"rxctl":"v1","abi":1.5}]`:             "got number, want integer",
		`[]`:                                     "minItems",
		`{"rxctl":"v1","abi":1}`:                 "got object, want array",
		`[{"rxctl":"v1","abi":1}] [1]`:           "not one JSON value",
		`[{"rxctl":"v1","abi":1,"module":{}}]`:   "missing properties",
		`[{"rxctl":"v1","abi":1,"module":null}]`: "got null, want object",
		`rxctl v1`:                               "not one JSON value",
	} {
		err := set.Validate("version", []byte(doc))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", doc, err, want)
		}
	}
	if err := set.Validate("frob", nil); err == nil {
		t.Error("there is a schema of frob")
	}
}

// TestFormat holds formats, which validators may ignore.
func TestFormat(t *testing.T) {
	set, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for doc, good := range map[string]bool{
		`{"type":"lost"}`: true,
		`{"type":"conn-up","time":"2026-11-30T01:02:03.000000004Z","peer-addr":"fd00::1"}`: true,
		`{"type":"conn-up","peer-addr":"10.9.0.1"}`:                                        true,
		`{"type":"conn-up","time":"yesterday"}`:                                            false,
		`{"type":"conn-up","peer-addr":"host"}`:                                            false,
		`{"type":"sneeze"}`:                                                                false,
	} {
		if err := set.Validate("monitor", []byte(doc)); (err == nil) != good {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// TestDescriptions makes sure that each key is explained, with its unit, and
// that no key is let in unknown.
func TestDescriptions(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		checkDescriptions(t, e.Name(), doc)
	}
}

func checkDescriptions(t *testing.T, at string, doc any) {
	t.Helper()
	switch doc := doc.(type) {
	case []any:
		for _, v := range doc {
			checkDescriptions(t, at, v)
		}
	case map[string]any:
		properties, _ := doc["properties"].(map[string]any)
		if properties != nil && doc["additionalProperties"] != false {
			t.Errorf("%s lets unknown keys in", at)
		}
		for key, p := range properties {
			checkDescription(t, at+" "+key, key, p)
		}
		for key, v := range doc {
			checkDescriptions(t, at+"/"+key, v)
		}
	}
}

func checkDescription(t *testing.T, at, key string, property any) {
	t.Helper()
	p, _ := property.(map[string]any)
	text, _ := p["description"].(string)
	if text == "" {
		t.Errorf("%s has no description", at)
	}
	for suffix, unit := range map[string]string{"-us": "microseconds", "-ms": "milliseconds", "-ns": "nanoseconds"} {
		if strings.HasSuffix(key, suffix) && !strings.Contains(text, unit) {
			t.Errorf("%s does not say %s: %q", at, unit, text)
		}
	}
	for _, word := range []string{"memory", "bytes", "size"} {
		if strings.Contains(key, word) && !strings.Contains(strings.ToLower(text), "bytes") {
			t.Errorf("%s does not say bytes: %q", at, text)
		}
	}
}
