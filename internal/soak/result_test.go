package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadResult(t *testing.T) {
	for _, tt := range []struct {
		name, out string
		err       error
		want      result
	}{
		{"passed", `=== RUN   TestStormDevice
    storm_test.go:80: figure: removals under traffic: 41
    storm_test.go:81: figure: teardown cycles: 12
--- PASS: TestStormDevice (20.11s)
=== RUN   TestStormModule
    storm_test.go:80: figure: removals under traffic: 9
--- PASS: TestStormModule (20.11s)
PASS
rxvm: the kernel's own fault, docs/known-issues.md: rxe does this or that (seen: 2)
`, nil, result{runs: 1, started: true, tests: 2, figures: map[string]uint64{"removals under traffic": 50, "teardown cycles": 12,
			"the kernel's own faults, known-issues.md": 2}}},
		{"a test and a splat", `--- FAIL: TestStormDevice (3.0s)
    --- PASS: TestStormDevice/rxe (1.0s)
    --- FAIL: TestStormDevice/siw (2.0s)
        --- FAIL: TestStormDevice/siw/one (1.0s)
        --- FAIL: TestStormDevice/siw/two (1.0s)
        rig_test.go:9: ledger: posted 5 - completed 4 - flushed 0 - failed 0 - reclaimed 0 is not outstanding 0
rxvm: kernel splat: 2 on the console (exit status 1)
--- KASAN
  BUG: KASAN: slab-use-after-free in rxpost_post+0x10
--- leak
  kmemleak: 2 new suspected memory leaks
FAIL
`, errors.New("exit status 1"), result{runs: 1, tests: 1, leaks: 1, splats: 1, ledgers: 1, figures: map[string]uint64{},
			found: []string{"TestStormDevice/siw/one failed (x.log)", "TestStormDevice/siw/two failed (x.log)", "KASAN (x.log)", "leak (x.log)"}}},
		{"lost in its first test", "=== RUN   TestStorm\nFAIL\n", errors.New("exit status 1"),
			result{runs: 1, started: true, figures: map[string]uint64{}, found: []string{"exit status 1 (x.log)"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := readResult(strings.NewReader(tt.out))
			if err := got.end(tt.err, "x.log"); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(&tt.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A run without a test proves nothing, whether go test minds or not.
func TestNoTestRan(t *testing.T) {
	for out, err := range map[string]error{
		"testing: warning: no tests to run\nPASS\n":                 nil,
		"./x_test.go:3:1: undefined: y\nFAIL\te2e [build failed]\n": errors.New("exit status 1"),
	} {
		if got := readResult(strings.NewReader(out)).end(err, "x.log"); got == nil || !strings.Contains(got.Error(), "x.log") {
			t.Errorf("%q: error %v", out, got)
		}
	}
}

func TestValidOptions(t *testing.T) {
	name := filepath.Join(t.TempDir(), "reliability.md")
	if err := os.WriteFile(name, []byte(tableBegin+tableEnd), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o    options
		rest []string
		want string // part of the error; none: it is right
	}{
		{o: options{duration: time.Hour, seed: 1}},
		{o: options{duration: time.Hour, table: name}},
		{options{duration: time.Hour}, []string{"8h"}, `what is "8h"?`},
		{o: options{}, want: "-duration: 0s is no time"},
		{o: options{duration: -time.Hour}, want: "is no time"},
		{o: options{duration: time.Hour, seed: 1<<30 + 1}, want: "-seed: 1073741825 is more than"},
		{o: options{duration: time.Hour, table: name + ".txt"}, want: "no line"},
	} {
		err := tt.o.valid(tt.rest)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v %q: error %v, want %q", tt.o, tt.rest, err, tt.want)
		}
	}
}

// What is counted goes up from run to run; how many allocations a command makes
// does not.
func TestAddResults(t *testing.T) {
	sum := newResult()
	for range 3 {
		sum.add(&result{runs: 1, figures: map[string]uint64{"netlink messages": 7, perCommand + "recv add": 31}})
	}
	want := &result{runs: 3, figures: map[string]uint64{"netlink messages": 21, perCommand + "recv add": 31}}
	if diff := cmp.Diff(want, sum, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteTable(t *testing.T) {
	name := filepath.Join(t.TempDir(), "reliability.md")
	const before, after = "# Title\n\nWords.\n\n" + tableBegin, tableEnd + "\n\nMore words.\n"
	if err := os.WriteFile(name, []byte(before+"\nold\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := totals{}
	sum.add("debug", &result{runs: 2, leaks: 1, figures: map[string]uint64{"teardown cycles": 4}, found: []string{"leak (x.log)"}})
	sum.add("6.12", &result{runs: 1, figures: map[string]uint64{"teardown cycles": 3, "netlink messages": 7}})
	text := table(sum, 9, 3*time.Second, false)
	if err := writeTable(name, text); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before+"\n\n"+text+"\n"+after, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := "`make soak SEED=9`: 3 runs in 3s.\n" + `
| Done on kernel | 6.12 | debug |
|---|---:|---:|
| netlink messages | 7 |  |
| teardown cycles | 3 | 4 |
| **found:** leaks | 0 | 1 |
| splats | 0 | 0 |
| unbalanced ledgers | 0 | 0 |
| failures of any kind | 0 | 1 |

- debug: leak (x.log)
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.WriteFile(name, []byte("no place\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(name, text); err == nil {
		t.Error("a document without a place for the table was written")
	}
}
