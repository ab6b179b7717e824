// This file owns the forms of output: JSON, tables, and numbers with units.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// wantJSON reports whether -j or -p was given.
func (env *environment) wantJSON() bool { return env.json || env.pretty }

// printJSON prints values as one array, as `rdma -j` does.
func printJSON[T any](env *environment, w io.Writer, values ...T) error {
	if values == nil {
		values = []T{}
	}
	enc := json.NewEncoder(w)
	if env.pretty {
		enc.SetIndent("", "    ")
	}
	if err := enc.Encode(values); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// printJSONLine prints a value as one object on a line of its own, for what
// comes as long as it is watched.
func printJSONLine(w io.Writer, value any) error {
	if err := json.NewEncoder(w).Encode(value); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// printTable prints rows in aligned columns; the first row is the heading, each
// of one word, so that scripts can count columns.
func printTable(w io.Writer, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(tw, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// size prints bytes in the largest binary unit, exactly or to one decimal.
func size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	unit, value := 0, float64(n)
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if value == float64(uint64(value)) {
		return fmt.Sprintf("%d %s", uint64(value), units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// number prints any unsigned number for a table.
func number[T uint16 | uint32 | uint64](n T) string { return strconv.FormatUint(uint64(n), 10) }

// plural prints a number and its noun, which takes an s.
func plural[T uint32 | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// times prints how often a wait of rnr-retry kind is allowed: 7 has no end.
func times(retry uint32) string {
	if retry == 7 {
		return "without end"
	}
	return plural(retry, "time")
}
