package e2e

// This file owns the scripts in testdata: rxctl as a shell script would use it.
// Each script has a rig of its own.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScripts(t *testing.T) {
	testscript.RunT(scripts{T: t}, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values["rig"] = env.T().(scripts).rig
			env.Setenv("N300", strings.Repeat("n", 300))
			env.Setenv("N70000", strings.Repeat("n", 70000))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rxctl":    runRxctl,
			"json":     checkJSON,
			"received": awaitReceived,
		},
	})
}

// scripts runs scripts one after the other, where testscript would run them side
// by side: they share a kernel.
type scripts struct {
	*testing.T
	rig *rig
}

func (s scripts) Parallel()     {}
func (s scripts) Verbose() bool { return testing.Verbose() }

func (s scripts) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) {
		f(scripts{t, newRig(t)})
	})
}

// runRxctl is "rxctl STATUS ARG...": it must end with that exit status.
func runRxctl(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rxctl STATUS ARG...")
	}
	err := ts.Exec("rxctl", args[1:]...)
	status := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("rxctl: %v", err)
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// received is "received N": it waits until r0 has received N messages.
func awaitReceived(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.ParseUint(strings.Join(args, " "), 10, 64)
	if neg || err != nil {
		ts.Fatalf("usage: received N")
	}
	r := ts.Value("rig").(*rig)
	r.await("messages", func() bool { return r.receiver().Counters.Messages >= n })
}

// json is "json N PATH=VALUE...": the last output must be an array of N objects
// with keys of the spec's style, and the first must have these values.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: json N PATH=VALUE...")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	var list []map[string]any
	if err := dec.Decode(&list); err != nil {
		ts.Fatalf("no JSON array of objects: %v", err)
	}
	if dec.More() {
		ts.Fatalf("more than one JSON value")
	}
	if strconv.Itoa(len(list)) != args[0] {
		ts.Fatalf("%d objects, want %s", len(list), args[0])
	}
	for _, o := range list {
		checkKeys(ts, o)
	}
	for _, want := range args[1:] {
		path, value, _ := strings.Cut(want, "=")
		if got := fmt.Sprint(at(list[0], path)); got != value {
			ts.Fatalf("%s is %s, want %s", path, got, value)
		}
	}
}

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkKeys(ts *testscript.TestScript, o map[string]any) {
	for key, v := range o {
		if !kebab.MatchString(key) {
			ts.Fatalf("key %q is not like-this", key)
		}
		// What is in resources the kernel names, cm_id for one.
		if inner, ok := v.(map[string]any); ok && key != "resources" {
			checkKeys(ts, inner)
		}
	}
}

// at follows a path of keys, like "ledger.posted", through objects.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		o, ok := v.(map[string]any)
		if !ok || !slices.Contains(keys(o), key) {
			return "absent"
		}
		v = o[key]
	}
	return v
}

func keys(o map[string]any) []string {
	var all []string
	for k := range o {
		all = append(all, k)
	}
	return all
}
