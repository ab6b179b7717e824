// This file tests what the types say of themselves: sums, units, names, JSON.

package ctl

import (
	"encoding"
	"encoding/json"
	"math"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLedgerBalanced(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Ledger)
		want   string // part of the error; empty for none
	}{
		{"balanced", func(*Ledger) {}, ""},
		{"a receive too many", func(l *Ledger) { l.Posted++ }, "is not outstanding 10"},
		{"a completion too many", func(l *Ledger) { l.Completed++ }, "is not outstanding 10"},
		{"a slot lost", func(l *Ledger) { l.Free-- }, "is not slots 15"},
		{"more ended than posted", func(l *Ledger) { *l = Ledger{Flushed: 1} }, "posted 0"},
		{"2³² receives too many", func(l *Ledger) { l.Posted += 1 << 32 }, "is not outstanding 10"},
		{"a sum that wraps 32 bits", func(l *Ledger) { *l = Ledger{Held: math.MaxUint32, Free: 1} }, "is not slots 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := wantLedger()
			tt.change(&l)
			err := l.Balanced()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("balanced ledger: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestPostsPerMessage(t *testing.T) {
	if got := (Counters{PostCalls: 3}).PostsPerMessage(); got != 0 {
		t.Errorf("before the first message: %v, want 0", got)
	}
	if got := (Counters{PostCalls: 3, Messages: 48}).PostsPerMessage(); got != 0.0625 {
		t.Errorf("3 calls, 48 messages: %v, want 0.0625", got)
	}
}

func TestLowestUnknown(t *testing.T) {
	r := wantReceiver()
	if r.Counters.Lowest == nil {
		t.Fatal("the test's receiver has no lowest level")
	}
	b := attributes(t, encodeLowest(math.MaxUint32))
	got, err := decodeReceiver(b)
	if err != nil || got.Counters.Lowest != nil {
		t.Errorf("lowest is %v, error %v; want nil for the kernel's largest number", got.Counters.Lowest, err)
	}
}

func TestUnits(t *testing.T) {
	if us, err := MicrosecondsOf(50 * time.Microsecond); us != 50 || err != nil {
		t.Errorf("50µs: %d, %v", us, err)
	}
	if ms, err := MillisecondsOf(5 * time.Second); ms != 5000 || err != nil {
		t.Errorf("5s: %d, %v", ms, err)
	}
	for _, d := range []time.Duration{-1, time.Nanosecond, 2 * time.Hour} {
		if us, err := MicrosecondsOf(d); err == nil {
			t.Errorf("%v became %d microseconds", d, us)
		}
	}
	if got := Microseconds(640).String(); got != "640µs" {
		t.Errorf("640 µs print as %q", got)
	}
}

// enum is what all generated enums can do.
type enum interface {
	encoding.TextMarshaler
	String() string
}

func TestEnums(t *testing.T) {
	tests := []struct {
		value enum
		to    encoding.TextUnmarshaler
		text  string
	}{
		{ReceiverStateNoDevice, new(ReceiverState), "no-device"},
		{ConnStateDraining, new(ConnState), "draining"},
		{PollModeHybrid, new(PollMode), "hybrid"},
		{SinkVerify, new(Sink), "verify"},
		{EventTypeDrainExpired, new(EventType), "drain-expired"},
		{RunStateDone, new(RunState), "done"},
		{WCFlushed, new(WCStatus), "wr-flush-err"},
	}
	for _, tt := range tests {
		if got := tt.value.String(); got != tt.text {
			t.Errorf("%T: %q, want %q", tt.value, got, tt.text)
		}
		if err := tt.to.UnmarshalText([]byte(tt.text)); err != nil {
			t.Errorf("%T: %v", tt.value, err)
		}
		if err := tt.to.UnmarshalText([]byte("nonsense")); err == nil {
			t.Errorf("%T takes nonsense", tt.value)
		}
	}
	if got := Sink(77).String(); got != "sink(77)" {
		t.Errorf("an unknown sink is %q", got)
	}
	if got := Sinks(); len(got) != 3 || got[SinkEcho] != "echo" {
		t.Errorf("sinks are %q", got)
	}
	if got := PollModes(); len(got) != 3 || got[PollModeBusy] != "busy" {
		t.Errorf("poll modes are %q", got)
	}
	if _, err := ParseSink("x"); err == nil || !strings.Contains(err.Error(), "discard, verify or echo") {
		t.Errorf("error %v does not list the sinks", err)
	}
}

// TestJSONBack reads back what was written, as a script in Go does.
func TestJSONBack(t *testing.T) {
	want := Run{
		ID: 1, Addr: netip.MustParseAddr("fd00::1"), State: RunStateDone, Elapsed: 5, Errno: new(Errno(syscall.ECONNREFUSED)),
		Status: []StatusCount{{WCFlushed, 3}},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Run
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, netipComparer()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	var e Errno
	if err := e.UnmarshalText([]byte("ENONSENSE")); err == nil {
		t.Errorf("ENONSENSE is %d", e)
	}
	if err := e.UnmarshalText([]byte("3000")); err != nil || e != 3000 {
		t.Errorf("error 3000 came back as %d, %v", e, err)
	}
}

// TestReceiverJSON holds the keys that scripts rely on.
func TestReceiverJSON(t *testing.T) {
	text, err := json.Marshal(wantReceiver())
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	for _, name := range receiverAttrs() {
		if _, ok := keys[name]; !ok && name != "" && name != "pad" {
			t.Errorf("attribute %s has no key in the JSON", name)
		}
		delete(keys, name)
	}
	for key := range keys {
		t.Errorf("key %s is no attribute", key)
	}
}
