package main

// This file owns reading what a run did and found from its output, and adding
// that up.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// result is what runs did and found.
type result struct {
	runs    int
	started bool              // a test was
	tests   int               // that passed or failed
	figures map[string]uint64 // how often something was done, by its name
	found   []string          // failed tests and splats, each with its log's name
	leaks   int
	splats  int
	ledgers int
}

func newResult() *result { return &result{figures: map[string]uint64{}} }

var (
	figureLine = regexp.MustCompile(`\bfigure: (.+): (\d+)$`)
	startLine  = regexp.MustCompile(`^=== RUN `)
	testLine   = regexp.MustCompile(`^--- (PASS|FAIL): `)
	failLine   = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	splatLine  = regexp.MustCompile(`^--- ([a-zA-Z][a-zA-Z -]*)$`) // as rxvm names a splat's rule
	knownLine  = regexp.MustCompile(`^rxvm: the kernel's own fault, .*\(seen: (\d+)\)$`)
	ledgerLine = regexp.MustCompile(`\bledger: (posted|outstanding) `)
)

// readResult reads the output of one run of go test -v.
func readResult(out io.Reader) *result {
	r := newResult()
	r.runs = 1
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.line(strings.TrimRight(lines.Text(), "\r"))
	}
	// A line too long is nothing of ours; the writer must not be blocked by it.
	io.Copy(io.Discard, out)
	return r
}

func (r *result) line(line string) {
	if startLine.MatchString(line) {
		r.started = true
	}
	if testLine.MatchString(line) {
		r.tests++
	}
	if m := figureLine.FindStringSubmatch(line); m != nil {
		var n uint64
		fmt.Sscan(m[2], &n)
		r.figures[m[1]] += n
	} else if m := knownLine.FindStringSubmatch(line); m != nil {
		var n uint64
		fmt.Sscan(m[1], &n)
		r.figures["the kernel's own faults, known-issues.md"] += n
	} else if m := failLine.FindStringSubmatch(line); m != nil {
		r.failed(m[1])
	} else if m := splatLine.FindStringSubmatch(line); m != nil {
		r.found = append(r.found, m[1])
		if m[1] == "leak" {
			r.leaks++
		} else {
			r.splats++
		}
	}
	if ledgerLine.MatchString(line) {
		r.ledgers++
	}
}

// failed notes a test. The one whose part it is, if any, is named just before it and
// did not fail otherwise.
func (r *result) failed(name string) {
	n := len(r.found)
	if n > 0 {
		if whole, ok := strings.CutSuffix(r.found[n-1], failedWord); ok && strings.HasPrefix(name, whole+"/") {
			r.found = r.found[:n-1]
		}
	}
	r.found = append(r.found, name+failedWord)
}

const failedWord = " failed"

// end is how go test ended. One that ran no test has found nothing out.
func (r *result) end(err error, log string) error {
	if err == nil && r.tests == 0 {
		err = errors.New("no test ran")
	}
	if err != nil && !r.started && len(r.found) == 0 {
		return fmt.Errorf("%w: see %s", err, log)
	}
	if err != nil && len(r.found) == 0 {
		r.found = append(r.found, err.Error())
	}
	for i := range r.found {
		r.found[i] += " (" + log + ")"
	}
	return nil
}

// failures is in how many places something was found.
func (r *result) failures() int { return len(r.found) }

// totals are the sums of the runs on each kernel.
type totals map[string]*result

func (t totals) add(kernel string, r *result) {
	if t[kernel] == nil {
		t[kernel] = newResult()
	}
	t[kernel].add(r)
}

// kernels are those that something ran on, in the order of their names.
func (t totals) kernels() []string { return slices.Sorted(maps.Keys(t)) }

func (t totals) sum(of func(*result) int) int {
	n := 0
	for _, r := range t {
		n += of(r)
	}
	return n
}

func (t totals) runs() int     { return t.sum(func(r *result) int { return r.runs }) }
func (t totals) failures() int { return t.sum((*result).failures) }

// figures are the names of all that was counted.
func (t totals) figures() []string {
	names := map[string]bool{}
	for _, r := range t {
		for name := range r.figures {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (r *result) add(o *result) {
	r.runs += o.runs
	r.tests += o.tests
	r.leaks += o.leaks
	r.splats += o.splats
	r.ledgers += o.ledgers
	r.found = append(r.found, o.found...)
	for name, n := range o.figures {
		if strings.HasPrefix(name, perCommand) {
			// The same points each time, or, on an instrumented kernel, other
			// samples of them.
			r.figures[name] = max(r.figures[name], n)
		} else {
			r.figures[name] += n
		}
	}
}

// perCommand begins the figures that say how many allocations a command makes.
const perCommand = "fail-nth points: "

// summary is a result on one line.
func (r *result) summary() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.figures)) {
		out = append(out, fmt.Sprintf("%s %d", name, r.figures[name]))
	}
	out = append(out, fmt.Sprintf("leaks %d, splats %d, unbalanced ledgers %d", r.leaks, r.splats, r.ledgers))
	return strings.Join(append(out, r.found...), "; ")
}
