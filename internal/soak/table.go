package main

// This file owns the table, and its place in the document.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// The document's lines between which the table stands.
const (
	tableBegin = "<!-- make soak: begin -->"
	tableEnd   = "<!-- make soak: end -->"
)

// table renders what was done and found as Markdown, a column for each kernel.
func table(t totals, seed uint64, took time.Duration, interrupted bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "`make soak SEED=%d`: %d runs in %v", seed, t.runs(), took.Round(time.Second))
	if interrupted {
		b.WriteString(", then interrupted")
	}
	b.WriteString(".\n\n")
	kernels := t.kernels()
	row := func(name string, of func(kernel string) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, k := range kernels {
			fmt.Fprintf(&b, " %s |", of(k))
		}
		b.WriteString("\n")
	}
	row("Done on kernel", func(k string) string { return k })
	b.WriteString("|---|" + strings.Repeat("---:|", len(kernels)) + "\n")
	for _, name := range t.figures() {
		row(name, func(k string) string {
			if n, ok := t[k].figures[name]; ok {
				return fmt.Sprint(n)
			}
			return ""
		})
	}
	for _, what := range []struct {
		name string
		of   func(*result) int
	}{
		{"**found:** leaks", func(r *result) int { return r.leaks }},
		{"splats", func(r *result) int { return r.splats }},
		{"unbalanced ledgers", func(r *result) int { return r.ledgers }},
		{"failures of any kind", (*result).failures},
	} {
		row(what.name, func(k string) string { return fmt.Sprint(what.of(t[k])) })
	}
	for _, k := range kernels {
		for _, f := range t[k].found {
			fmt.Fprintf(&b, "\n- %s: %s", k, f)
		}
	}
	if t.failures() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// writeTable puts text into the document, in the old table's place.
func writeTable(name, text string) error {
	before, after, err := tableIn(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(before+tableBegin+"\n\n"+text+"\n"+tableEnd+after), 0o644)
}

// tableIn is a document without its table: what comes before that, and after.
func tableIn(name string) (before, after string, err error) {
	doc, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	before, rest, ok := strings.Cut(string(doc), tableBegin)
	if !ok {
		return "", "", fmt.Errorf("%s: no line %q", name, tableBegin)
	}
	_, after, ok = strings.Cut(rest, tableEnd)
	if !ok {
		return "", "", fmt.Errorf("%s: no line %q", name, tableEnd)
	}
	return before, after, nil
}
