// This file owns the Go side: it turns a spec into constants, enum types and
// tables of names.

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"strings"
	"text/template"
)

//go:embed golang.tmpl
var goTemplate string

// goSource renders one family.
func goSource(f family, s *spec) ([]byte, error) {
	t, err := template.New("golang.tmpl").Funcs(template.FuncMap{
		"camel":   camel,
		"comment": comment,
		"unexported": func(parts ...string) string {
			return unexported(append([]string{parts[0], f.prefix}, parts[1:]...)...)
		},
		"private": func(parts ...string) string {
			return unexported(append([]string{f.prefix}, parts...)...)
		},
	}).Parse(goTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, s); err != nil {
		return nil, err
	}
	text, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the template made no valid Go: %w", err)
	}
	return text, nil
}

// camel makes one exported Go name of kebab-case parts.
func camel(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		for word := range strings.FieldsFuncSeq(part, func(r rune) bool { return r == '-' || r == '_' }) {
			if upper, ok := initialism(word); ok {
				b.WriteString(upper)
				continue
			}
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// initialism spells the words that Go names keep in capitals.
func initialism(word string) (string, bool) {
	switch word {
	case "id", "qp", "qpn", "rq", "cqe", "rnr", "abi", "pid", "us", "ms", "ns":
		return strings.ToUpper(word), true
	case "wrs":
		return "WRs", true
	}
	return "", false
}

// unexported is camel with its first word in lower case.
func unexported(parts ...string) string {
	joined := strings.Trim(strings.ReplaceAll(strings.Join(parts, "-"), "--", "-"), "-")
	first, rest, _ := strings.Cut(joined, "-")
	return first + camel(rest)
}

// commentWidth is where comments wrap, without their indentation.
const commentWidth = 77

// comment wraps text into a Go comment whose first words are lead.
func comment(lead, text string) string {
	words := strings.Fields(lead + " " + text)
	var lines []string
	line := "//"
	for _, w := range words {
		if len(line)+1+len(w) > commentWidth {
			lines = append(lines, line)
			line = "//"
		}
		line += " " + w
	}
	return strings.Join(append(lines, line), "\n")
}
