package main

// This file owns the figures: the table, and what is promised.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// counts is how much of something was executed.
type counts struct{ covered, total int }

func (c counts) add(o counts) counts { return counts{c.covered + o.covered, c.total + o.total} }

// percent of nothing is all of it.
func (c counts) percent() float64 {
	if c.total == 0 {
		return 100
	}
	return 100 * float64(c.covered) / float64(c.total)
}

func (c counts) String() string {
	return fmt.Sprintf("%d of %d\t%.1f %%", c.covered, c.total, c.percent())
}

// file is one of gcovr's summary.
type file struct {
	Name            string `json:"filename"`
	LinesTotal      int    `json:"line_total"`
	LinesCovered    int    `json:"line_covered"`
	BranchesTotal   int    `json:"branch_total"`
	BranchesCovered int    `json:"branch_covered"`
}

func (f file) lines() counts    { return counts{f.LinesCovered, f.LinesTotal} }
func (f file) branches() counts { return counts{f.BranchesCovered, f.BranchesTotal} }

// summary is what gcovr counted.
type summary struct {
	Files []file `json:"files"`
}

// What is promised of the receive path, as a whole.
const (
	linesPromised    = 90.0
	branchesPromised = 80.0
)

// receivePath lists the files that a receive, a connection and a receiver go
// through.
func receivePath() []string {
	var out []string
	for _, f := range []string{
		"rxpost", "conn", "queue", "post", "poll", "complete", "repost", "netlink", "netlink_read",
	} {
		out = append(out, "kmod/"+f+".c")
	}
	return out
}

// sum adds up those of the files that want takes.
func (s summary) sum(want func(name string) bool) (lines, branches counts) {
	for _, f := range s.Files {
		if want(f.Name) {
			lines, branches = lines.add(f.lines()), branches.add(f.branches())
		}
	}
	return lines, branches
}

func onReceivePath(name string) bool { return slices.Contains(receivePath(), name) }

// table shows each file, the receive path first.
func (s summary) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, lines, branches counts) {
		fmt.Fprintf(w, "%s\t%v\t%v\n", name, lines, branches)
	}
	fmt.Fprintln(w, "FILE\tLINES\t\tBRANCHES\t")
	part := func(title string, want func(string) bool) {
		for _, f := range s.Files {
			if want(f.Name) {
				row(f.Name, f.lines(), f.branches())
			}
		}
		lines, branches := s.sum(want)
		row(title, lines, branches)
	}
	part("the receive path", onReceivePath)
	part("all else", func(name string) bool { return !onReceivePath(name) })
	w.Flush()
	return b.String()
}

// check fails when a promise is not kept, or cannot be judged.
func (s summary) check() error {
	var errs []error
	for _, name := range receivePath() {
		if !slices.ContainsFunc(s.Files, func(f file) bool { return f.Name == name && f.LinesTotal > 0 }) {
			errs = append(errs, fmt.Errorf("there are no figures of %s", name))
		}
	}
	lines, branches := s.sum(onReceivePath)
	if lines.percent() <= linesPromised {
		errs = append(errs, fmt.Errorf("%.1f %% of the receive path's lines were executed, %.0f %% are promised",
			lines.percent(), linesPromised))
	}
	if branches.percent() <= branchesPromised {
		errs = append(errs, fmt.Errorf("%.1f %% of the receive path's branches were executed, %.0f %% are promised",
			branches.percent(), branchesPromised))
	}
	return errors.Join(errs...)
}
