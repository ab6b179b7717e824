// This file tests that all that is printed with -j fits its schema, that each
// command has one, and that no schema knows what nothing prints.

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
)

// printed are command lines by the schema that their output fits. Those whose
// schema is of one line go on until they are interrupted.
func printed() map[string][]string {
	return map[string][]string{
		"recv-add":    {"recv add r0 --addr 10.9.0.1:7471"},
		"recv-show":   {"recv show", "recv show r0"},
		"recv-del":    {"recv del r0"},
		"conn-show":   {"conn show", "conn show --recv r0 --conn 1"},
		"stats":       {"stats", "stats r0"},
		"stats-watch": {"stats r0 --watch=1s"},
		"link-show":   {"link show"},
		"send":        {"send 10.9.0.1:7471", "send 10.9.0.1:7471 --round-trip --qps 2"},
		"monitor":     {"monitor"},
		"version":     {"version"},
	}
}

// silent are command lines that print nothing, with -j either.
func silent() []string {
	return []string{"recv set r0 --batch 1", "recv del r0 --no-wait", "link add rxe1 --type rxe --netdev eth0", "link del rxe0"}
}

// full is a fake that says all there is to say, once and with nothing left out.
func full() *fakeClient {
	r := testReceiver()
	r.Sends, r.CPUs, r.Allow = new(testLedger()), []uint32{0}, append(r.Allow, must(parsePrefix("10.9.0.0/24")))
	bare := testReceiver()
	bare.Device, bare.State, bare.PollerPIDs, bare.Counters.Lowest = "", ctl.ReceiverStateNoDevice, []uint32{}, nil
	echo := testConn()
	echo.Sends = new(testLedger())
	quiet := testConn()
	quiet.IdleMS = nil
	run := testRun()
	run.Addr, run.Port, run.Device, run.RemoteAddr, run.RKey = r.Addr, r.Port, "rxe0", 4096, 7
	run.PID, run.Hold, run.RoundTrips = 4711, true, &ctl.RoundTrips{Answers: 1, Receives: testLedger()}
	run.Errno, run.Reason = new(ctl.Errno(syscall.ENODEV)), "the device went"
	event := ctl.Event{
		Type: ctl.EventTypeReceiverGone, Time: time.Unix(1, 1), ReceiverID: 1, ReceiverName: "r0", Device: "rxe0",
		ConnIndex: new(uint32(0)), QPN: 17, PeerAddr: r.Addr, PeerPort: 4000, Reason: "because", Ledger: new(testLedger()),
		Mappings: new(uint64(0)), Count: 3,
	}
	return &fakeClient{
		receivers: []ctl.Receiver{r, bare}, conns: []ctl.Conn{echo, quiet}, run: run, rtt: []ctl.RTTBucket{{From: 1000, Count: 1}},
		gone: event, events: []ctl.Event{event, {Type: ctl.EventTypeLost}},
	}
}

// must returns v; err says that the test is wrong.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// printJSONOf runs a command line with -j for some seconds of fake time and
// returns what it printed: one document, or one a line.
func printJSONOf(t *testing.T, name, args string) (docs []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		r := rxctl(ctx, full(), append(strings.Fields(args), "-j")...)
		if name != "send" && r.status != exitDone { // the run of full failed
			t.Fatalf("%s: exit status %d, %q", args, r.status, r.stderr)
		}
		docs = []string{r.stdout}
		if name == "monitor" || name == "stats-watch" {
			docs = strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
		}
	})
	return docs
}

func TestSchemas(t *testing.T) {
	set := must(schema.Load())
	if diff := cmp.Diff(slices.Sorted(maps.Keys(set)), slices.Sorted(maps.Keys(printed()))); diff != "" {
		t.Errorf("schemas (-schema/ +rxctl):\n%s", diff)
	}
	seen := map[string]bool{}
	for name, lines := range printed() {
		for _, args := range lines {
			for _, doc := range printJSONOf(t, name, args) {
				if err := set.Validate(name, []byte(doc)); err != nil {
					t.Errorf("rxctl %s -j: %v\n%s", args, err, doc)
				}
				mark(seen, set[name], must(jsonschema.UnmarshalJSON(strings.NewReader(doc))))
			}
		}
	}
	for _, s := range set {
		for _, key := range unseen(seen, s) {
			t.Errorf("%s is never printed", key)
		}
	}
	for _, args := range silent() {
		r := rxctl(t.Context(), full(), append(strings.Fields(args), "-j")...)
		if r.want(t, exitDone); r.stdout != "" {
			t.Errorf("rxctl %s printed %q", args, r.stdout)
		}
	}
}

// TestEveryCommandHasASchema walks the tree of commands.
func TestEveryCommandHasASchema(t *testing.T) {
	lines := []string{"completion bash", "help"} // text, for shells and people
	lines = append(lines, silent()...)
	for _, of := range printed() {
		lines = append(lines, of...)
	}
	root := rootCommand(&environment{})
	root.InitDefaultHelpCmd()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "rxctl ")
		if !cmd.HasSubCommands() && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l+" ", path+" ") }) {
			t.Errorf("rxctl %s has no schema", path)
		}
	}
	walk(root)
}

// target follows references to the schema that says something.
func target(s *jsonschema.Schema) *jsonschema.Schema {
	for s.Ref != nil && s.Properties == nil && s.Items2020 == nil {
		s = s.Ref
	}
	return s
}

// mark notes the keys that a document has, by where their schema is.
func mark(seen map[string]bool, s *jsonschema.Schema, value any) {
	s = target(s)
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			mark(seen, s.Items2020, v)
		}
	case map[string]any:
		for key, v := range value {
			if p := s.Properties[key]; p != nil {
				seen[p.Location] = true
				mark(seen, p, v)
			}
		}
	}
}

// unseen lists the keys below a schema that no document had.
func unseen(seen map[string]bool, s *jsonschema.Schema) (keys []string) {
	s = target(s)
	if s.Items2020 != nil {
		keys = unseen(seen, s.Items2020)
	}
	for _, p := range s.Properties {
		if !seen[p.Location] {
			keys = append(keys, p.Location)
		}
		keys = append(keys, unseen(seen, p)...)
	}
	return keys
}

// TestSchemaEnums compares the words of the schemas with those of package ctl.
func TestSchemaEnums(t *testing.T) {
	set := must(schema.Load())
	receiver := target(target(set["recv-show"]).Items2020)
	conn := target(target(set["conn-show"]).Items2020)
	run := target(target(set["send"]).Items2020)
	for name, words := range map[*jsonschema.Schema][]string{
		receiver.Properties["state"]:              words[ctl.ReceiverState](),
		receiver.Properties["poll-mode"]:          words[ctl.PollMode](),
		receiver.Properties["sink"]:               words[ctl.Sink](),
		conn.Properties["state"]:                  words[ctl.ConnState](),
		run.Properties["state"]:                   words[ctl.RunState](),
		run.Properties["opcode"]:                  words[ctl.Opcode](),
		target(set["monitor"]).Properties["type"]: words[ctl.EventType](),
	} {
		enum := target(name).Enum
		if enum == nil {
			t.Errorf("%s lists no words", name.Location)
			continue
		}
		if got := strings.Trim(fmt.Sprint(enum.Values), "[]"); got != strings.Join(words, " ") {
			t.Errorf("%s lists %s, ctl has %s", name.Location, got, words)
		}
	}
}

// words lists the texts of an enum: all up to the first value without a name.
func words[T interface {
	~uint32
	fmt.Stringer
}]() (all []string) {
	for v := T(0); !strings.Contains(v.String(), "("); v++ {
		all = append(all, v.String())
	}
	return all
}
