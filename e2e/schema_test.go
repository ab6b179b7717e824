package e2e

// This file owns the check that what rxctl prints as JSON fits its schema, with
// a kernel behind it.

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
	"github.com/rxpost/rxpost/schema"
)

// schemas checks documents and remembers for which commands it did.
type schemas struct {
	*rig
	set     schema.Set
	checked map[string]int
}

func (r *rig) schemas() *schemas {
	r.t.Helper()
	set, err := schema.Load()
	if err != nil {
		r.t.Fatal(err)
	}
	return &schemas{r, set, map[string]int{}}
}

// fits checks one document that the command of a schema printed.
func (s *schemas) fits(name, doc string) {
	s.t.Helper()
	if err := s.set.Validate(name, []byte(doc)); err != nil {
		s.t.Errorf("%v\n%s", err, doc)
	}
	s.checked[name]++
}

// run runs rxctl, which must end with status, and checks what it printed. It
// returns the first value of the array.
func (s *schemas) run(name string, status int, args string) map[string]any {
	s.t.Helper()
	out, stderr, got := s.rxctl(append(strings.Fields(args), "-j")...)
	if got != status {
		s.t.Errorf("rxctl %s: exit status %d, want %d; %s", args, got, status, stderr)
	}
	s.fits(name, out)
	var values []map[string]any
	if err := json.Unmarshal([]byte(out), &values); err != nil {
		s.t.Fatalf("rxctl %s: %v\n%s", args, err, out)
	}
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

func TestJSONFitsSchema(t *testing.T) { onEachDevice(t, jsonFitsSchema) }

func jsonFitsSchema(t *testing.T, r *rig) {
	s := r.schemas()
	monitor := r.watch("monitor", "-j")
	r.listening(monitor.lines)

	if v := s.run("recv-show", 0, "recv show"); v != nil {
		t.Errorf("there is a receiver: %v", v)
	}
	s.run("conn-show", 0, "conn show")
	s.run("stats", 0, "stats")
	s.run("version", 0, "version")
	if v := s.run("link-show", 0, "link show"); v["ifname"] != s.device.name {
		t.Errorf("device: %v", v)
	}
	if v := s.run("recv-add", 0, "recv add r0 --addr "+listenAddr.String()+" --sink verify"); v["name"] != "r0" {
		t.Errorf("receiver: %v", v)
	}
	s.run("recv-add", 0, "recv add r1 --addr 10.9.0.1:7472 --depth 16 --max-conns 1 --slot 64+4032 --sink echo --cpu 0 --allow 10.9.0.0/24")
	if v := s.run("recv-show", 0, "recv show r1"); v["sends"] == nil {
		t.Errorf("a receiver that answers: %v", v)
	}
	s.run("recv-del", 0, "recv del r1")
	s.traffic()
	s.run("send", 0, "send "+listenAddr.String()+" --count 100")
	if v := s.run("send", 1, "send 10.9.0.1:7999 --count 1"); v["error"] == nil {
		t.Errorf("a run to nobody: %v", v)
	}
	if err := rdma.Host().Delete(s.device.name); err != nil {
		t.Fatal(err)
	}
	if v := s.run("recv-show", 0, "recv show"); v["state"] != "no-device" {
		t.Errorf("receiver without a device: %v", v)
	}
	s.run("stats", 0, "stats r0")
	if v := s.run("recv-del", 0, "recv del r0"); v["ledger"] == nil {
		t.Errorf("end of the receiver: %v", v)
	}
	s.events(monitor)

	for name := range s.set {
		if s.checked[name] == 0 {
			t.Errorf("no output of %s was checked", name)
		}
	}
}

// traffic checks what is printed while messages flow.
func (s *schemas) traffic() {
	s.t.Helper()
	tr := s.flow(1)
	for _, args := range []string{"conn show", "conn show --recv r0", "conn show --recv r0 --conn 0"} {
		if v := s.run("conn-show", 0, args); v["state"] != "live" || v["idle-ms"] == nil {
			s.t.Errorf("rxctl %s: %v", args, v)
		}
	}
	s.run("recv-show", 0, "recv show r0")
	if v := s.run("stats", 0, "stats r0"); v["posts-per-message"] == 0.0 {
		s.t.Errorf("stats: %v", v)
	}
	watch := s.watch("stats", "r0", "--watch=200ms", "-j")
	for range 3 {
		s.fits("stats-watch", watch.next())
	}
	watch.interrupt()
	tr.vanish()
	s.alone()
}

// events checks what the monitor has printed by the end of r0.
func (s *schemas) events(monitor *watching) {
	s.t.Helper()
	for ended := false; !ended; {
		line := monitor.next()
		s.fits("monitor", line)
		var ev ctl.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		ended = ev.Type == ctl.EventTypeReceiverGone && ev.ReceiverName == "r0"
	}
	monitor.interrupt()
}
