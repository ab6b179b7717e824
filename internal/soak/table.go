package main

// This file owns the table, and its place in the document.

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// The document's lines between which the table stands.
const (
	tableBegin = "<!-- make soak: begin -->"
	tableEnd   = "<!-- make soak: end -->"
)

// table renders the result as Markdown.
func table(r *result, seed uint64, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "`make soak SEED=%d`: %d runs in %v.\n\n", seed, r.runs, took.Round(time.Second))
	b.WriteString("| What | How often |\n|---|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(r.figures)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, r.figures[name])
	}
	fmt.Fprintf(&b, "\n| Found | |\n|---|---:|\n| leaks | %d |\n| splats | %d |\n| unbalanced ledgers | %d |\n| runs that failed in any way | %d |\n",
		r.leaks, r.splats, r.ledgers, r.failures())
	for _, f := range r.found {
		fmt.Fprintf(&b, "\n- %s", f)
	}
	if len(r.found) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// writeTable puts text into the document, in the old table's place.
func writeTable(name, text string) error {
	doc, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, rest, ok := strings.Cut(string(doc), tableBegin)
	if !ok {
		return fmt.Errorf("%s: no line %q", name, tableBegin)
	}
	_, after, ok := strings.Cut(rest, tableEnd)
	if !ok {
		return fmt.Errorf("%s: no line %q", name, tableEnd)
	}
	return os.WriteFile(name, []byte(before+tableBegin+"\n\n"+text+"\n"+tableEnd+after), 0o644)
}
