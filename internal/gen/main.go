// Program gen turns the netlink specs in spec/ into the code that is committed
// beside them: the C headers and policy tables of the kernel modules, and the
// Go constants of package ctl.
//
// It runs at the top of the repository:
//
//	go run ./internal/gen -source DIR          write what differs
//	go run ./internal/gen -source DIR -check   write nothing, fail on a difference
//	go run ./internal/gen -only go             leave C, and so DIR, out
//
// DIR is an unpacked kernel source that holds tools/net/ynl. It is only read.
//
// This file owns the command line and the list of what is made from what.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

// family says how one spec is called in each language.
type family struct {
	name   string // of the spec, of the C files and of the netlink family
	prefix string // of unexported Go names, to tell families apart
}

// families lists the specs. A function, because a list nobody can change needs
// no variable.
func families() []family {
	return []family{
		{name: "rxpost"},
		{name: "rxpost_send", prefix: "send"},
	}
}

// options is the parsed command line.
type options struct {
	source string
	only   string
	check  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run does what the command line asks for, in the current directory.
func run(ctx context.Context, args []string) error {
	opts, err := parseOptions(args)
	if err != nil {
		return err
	}
	var files []output
	if opts.only != "c" {
		made, err := goFiles()
		if err != nil {
			return err
		}
		files = append(files, made...)
	}
	if opts.only != "go" {
		made, err := cFiles(ctx, opts.source)
		if err != nil {
			return err
		}
		files = append(files, made...)
	}
	if opts.check {
		return compare(files)
	}
	return write(files)
}

// parseOptions reads the command line and refuses what cannot work.
func parseOptions(args []string) (options, error) {
	var opts options
	fs := flag.NewFlagSet("gen", flag.ContinueOnError)
	fs.StringVar(&opts.source, "source", "", "unpacked kernel source `DIR` with tools/net/ynl")
	fs.StringVar(&opts.only, "only", "", "make only the files of one `LANGUAGE`, go or c")
	fs.BoolVar(&opts.check, "check", false, "write nothing, fail if a committed file differs")
	if err := fs.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case fs.NArg() > 0:
		return options{}, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case opts.only != "" && opts.only != "go" && opts.only != "c":
		return options{}, fmt.Errorf("-only %q: want go or c", opts.only)
	case opts.source == "" && opts.only != "go":
		return options{}, errors.New("-source is missing: C is made by the generator of a kernel source")
	}
	return opts, nil
}

// goFiles makes the Go constants of every family.
func goFiles() ([]output, error) {
	var files []output
	for _, f := range families() {
		path := specPath(f.name)
		s, err := readSpec(path)
		if err != nil {
			return nil, err
		}
		text, err := goSource(f, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, output{path: filepath.Join("ctl", "zuapi_"+f.name+".go"), data: text})
	}
	return files, nil
}

// specPath is where the spec of one family lies.
func specPath(name string) string {
	return filepath.Join("spec", name+".yaml")
}
