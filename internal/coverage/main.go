// Program coverage says which lines and branches of the modules the tests have
// executed. It runs at the top of the repository:
//
//	go run ./internal/coverage DIR
//
// DIR holds what `rxvm --coverage DIR/NAME` wrote, of one run or of several. A page to
// browse goes to DIR/index.html, a table is printed, and the status is 1 when
// the path of a receive is below what is promised of it.
//
// This file owns the command line and what is asked of gcovr.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: coverage DIR")
	}
	annotated, err := os.MkdirTemp("", "coverage-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(annotated)
	if err := annotate(ctx, args[0], annotated); err != nil {
		return err
	}
	s, err := summarise(ctx, annotated, args[0])
	if err != nil {
		return err
	}
	fmt.Print(s.table())
	return s.check()
}

// notBranches are the lines on which the kernel's macros branch by themselves:
// assertions of lockdep and tracepoints, whose other side is a complaint of the
// kernel's, or a tracer that nobody attached.
const notBranches = `.*\b(lockdep_assert_\w+|trace_rxpost_\w+|(WARN_ON|BUILD_BUG_ON|BUG_ON)(_ONCE)?)\(.*`

// summarise has gcovr read what gcov has annotated and write its page into dir.
func summarise(ctx context.Context, annotated, dir string) (summary, error) {
	file := filepath.Join(dir, "summary.json")
	cmd := exec.CommandContext(ctx, "gcovr", "--use-gcov-files", "--root", ".",
		"--filter", "kmod/", "--exclude", "kmod/(gen|test|uapi)/",
		"--exclude-branches-by-pattern", notBranches,
		"--html-title", "rxpost: code that the tests executed",
		"--html-details", filepath.Join(dir, "index.html"),
		"--json-summary", file, annotated)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return summary{}, fmt.Errorf("gcovr: %w\n%s", err, out.Bytes())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return summary{}, err
	}
	var s summary
	if err := json.Unmarshal(data, &s); err != nil {
		return summary{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}
