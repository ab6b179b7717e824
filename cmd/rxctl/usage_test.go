// This file tests how command lines are refused and how errors end a command.

package main

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

func TestUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "rxctl wants a command"},
		{"recv", "wants a command: add, del, set, show"},
		{"frob", `has no command "frob"`},
		{"recv frob", `has no command "frob"`},
		{"recv add --addr 10.9.0.1:1", "wants one name"},
		{"recv add r0", "wants --addr"},
		{"recv add r0 --addr 10.9.0.1", "has no port"},
		{"recv add r0 --addr fd00::1:7471", "has no port"},
		{"recv add r0 --addr 10.9.0.1:0", `port "0" is not one of 1 to 65535`},
		{"recv add r0 --addr 10.9.0.1:65536", "not one of 1 to 65535"},
		{"recv add r0 --addr host:1", "names are not looked up"},
		{"recv add r0 --addr [fe80::1%eth0]:1", "names a zone"},
		{"recv add r0 --addr 10.9.0.1:1 --spin 50", `"50" has no unit: write 50us`},
		{"recv add r0 --addr 10.9.0.1:1 --spin 1ns", "not a whole multiple of 1µs"},
		{"recv add r0 --addr 10.9.0.1:1 --depth -1", "is no number"},
		{"recv add r0 --addr 10.9.0.1:1 --depth 5G", "is more than 4294967295"},
		{"recv add r0 --addr 10.9.0.1:1 --sink drop", "want discard, verify or echo"},
		{"recv add r0 --addr 10.9.0.1:1 --frob", "unknown flag"},
		{"recv set r0", "wants at least one flag"},
		{"stats --watch", "wants the name of one receiver"},
		{"stats r0 --watch=0", "a period above 0"},
		{"conn show --conn 0", "wants --recv"},
		{"conn show --recv r0 --conn x", "is no number"},
		{"conn show --recv=", "it is empty"},
		{"recv add r0 --addr 10.9.0.1:1 --device=", "it is empty"},
		{"recv add r0 --addr 10.9.0.1:1 --slot 64+", "is no number"},
		{"recv add r0 --addr 10.9.0.1:1 --cpu 0,x", `"x" is no CPU`},
		{"recv add r0 --addr 10.9.0.1:1 --cpu=", `"" is no CPU`},
		{"recv add r0 --addr 10.9.0.1:1 --cpu 4294967295", "is no CPU"},
		{"recv add r0 --addr 10.9.0.1:1 --cpu any --cpu 0", `"any" stands alone`},
		{"recv add r0 --addr 10.9.0.1:1 --cpu 0 --cpu any", `"any" stands alone`},
		{"recv add r0 --addr 10.9.0.1:1 --allow 10.9.0.0/33", "is no range of addresses"},
		{"recv add r0 --addr 10.9.0.1:1 --allow fe80::1%eth0", "is no range of addresses"},
		{"recv add r0 --addr 10.9.0.1:1 --allow 10.9.0.0/24,", `"" is no range of addresses`},
		{"recv add r0 --addr 10.9.0.1:1 --hold 5", "has no unit"},
		{"recv add r0 --addr 10.9.0.1:1 --batch-timeout 0.0", "has no unit"},
		{"help frob", `rxctl has no command "frob"`},
		{"help recv frob", `rxctl recv has no command "frob"`},
		{"help recv show r0", `rxctl recv show has no command "r0"`},
		{"completion", "wants one shell"},
		{"completion tcsh", "want bash, zsh or fish"},
		{"recv show a b", "takes one name or none"},
		{"recv del", "wants one name"},
		{"recv del r0 --timeout 5", "has no unit"},
		{"conn show x", "takes no argument"},
		{"send", "wants one address"},
		{"send 10.9.0.1", "has no port"},
		{"send 10.9.0.1:1 --progress sometimes", "want auto, always or never"},
		{"link add rxe0 --netdev eth0", "wants --type"},
		{"link add rxe0 --type rxe", "wants --netdev"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			f := &fakeClient{err: errors.New("the kernel was asked")}
			r := rxctl(t.Context(), f, strings.Fields(tt.args)...)
			r.want(t, exitUsage)
			if !strings.Contains(r.stderr, tt.want) || r.stdout != "" {
				t.Errorf("stderr %q, stdout %q; want %q on stderr alone", r.stderr, r.stdout, tt.want)
			}
			if !strings.HasPrefix(r.stderr, "rxctl: ") || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("stderr %q is not one line of rxctl's", r.stderr)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		err    error
		status int
		want   string
	}{
		{&ctl.Error{Op: "add receiver r0", Message: "depth 9 is above depth-max 8", Attr: "depth", Err: syscall.EINVAL},
			exitFailed, "add receiver r0: depth 9 is above depth-max 8 (--depth)"},
		{&ctl.Error{Op: "add receiver r0", Message: "address in use", Attr: "port", Err: syscall.EADDRINUSE},
			exitFailed, "add receiver r0: address in use (--addr)"},
		{&ctl.Error{Op: "add receiver r0", Err: syscall.EPERM}, exitForbidden, "wants the capability CAP_NET_ADMIN"},
		{&ctl.Error{Op: "add receiver r0", Message: "no module", Err: ctl.ErrNotLoaded}, exitNotLoaded, "no module"},
		{&ctl.Error{Op: "show receiver r0", Message: "no such receiver", Err: syscall.ENOENT}, exitNoObject, "no such receiver"},
		{&ctl.Error{Op: "add receiver r0", Message: "r0 exists already", Attr: "name", Err: syscall.EEXIST}, exitFailed, "r0 exists already\n"},
		{&ctl.Error{Op: "add receiver r0", Message: "no RDMA device has that address", Err: syscall.ENODEV}, exitNoObject, "no RDMA device"},
		{errors.Join(errors.New("one"), errors.New("two")), exitFailed, "one; two"},
		{os.ErrDeadlineExceeded, exitFailed, "timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.err.Error(), func(t *testing.T) {
			f := &fakeClient{err: tt.err}
			r := rxctl(t.Context(), f, "recv", "add", "r0", "--addr", "10.9.0.1:7471")
			r.want(t, tt.status)
			if !strings.Contains(r.stderr, tt.want) || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("stderr %q, want one line with %q", r.stderr, tt.want)
			}
			if !f.closed {
				t.Error("the client was left open")
			}
		})
	}
}

// TestNameRefused shows the kernel's sentence about a name, whatever the command.
func TestNameRefused(t *testing.T) {
	for args, attr := range map[string]string{
		"recv add r0 --addr 10.9.0.1:7471": "name", "recv set r0 --batch 1": "name", "recv del r0": "name", "recv del r0 --no-wait": "name",
		"recv show r0": "name", "stats r0": "name", "stats r0 --watch": "name",
		"conn show --recv r0": "receiver-name", "conn show --recv r0 --conn 1": "receiver-name",
	} {
		f := &fakeClient{err: &ctl.Error{Op: "do it", Message: "a name has at most 31 bytes, not 300", Attr: attr, Err: syscall.EINVAL}}
		r := rxctl(t.Context(), f, strings.Fields(args)...)
		want := "rxctl: do it: a name has at most 31 bytes, not 300\n"
		if attr == "receiver-name" {
			want = strings.TrimSuffix(want, "\n") + " (--recv)\n"
		}
		if r.status != exitFailed || r.stderr != want || r.stdout != "" {
			t.Errorf("%s: exit status %d, stderr %q, stdout %q; want %q", args, r.status, r.stderr, r.stdout, want)
		}
	}
}

// TestFlagOfAttribute makes sure that an error never names a flag that is not
// there.
func TestFlagOfAttribute(t *testing.T) {
	add, send := recvAddCommand(&environment{}), sendCommand(&environment{})
	for _, attr := range strings.Fields("addr port device depth depth-max batch batch-timeout-us low-water slot-size max-conns " +
		"pollers poll-mode budget spin-us sink rnr-timer-us rnr-retry drain-timeout-ms segment hold-us idle-timeout-ms cpu allow") {
		if add.Flags().Lookup(flagOf(attr)) == nil {
			t.Errorf("attribute %s names flag --%s, which recv add does not have", attr, flagOf(attr))
		}
	}
	for _, attr := range strings.Fields("size count duration-ms batch in-flight rate opcode remote-addr rkey " +
		"round-trip answer-timeout-ms connect-timeout-ms drain-timeout-ms") {
		if send.Flags().Lookup(flagOf(attr)) == nil {
			t.Errorf("attribute %s names flag --%s, which send does not have", attr, flagOf(attr))
		}
	}
}

// brokenWriter fails like a full disk.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputLost(t *testing.T) {
	for _, args := range []string{"recv show", "-j recv show", "conn show", "stats", "send 10.9.0.1:1", "link show", "monitor", "version", "help", "completion bash"} {
		t.Run(args, func(t *testing.T) {
			var stderr strings.Builder
			f := &fakeClient{receivers: []ctl.Receiver{testReceiver()}, run: testRun(), events: []ctl.Event{{}}}
			env := &environment{
				stdout: brokenWriter{}, stderr: &stderr, devices: fakeDevices{},
				dial: func() (client, error) { return f, nil },
			}
			status := run(t.Context(), env, strings.Fields(args))
			if status != exitFailed || !strings.Contains(stderr.String(), "no space left") {
				t.Errorf("exit status %d, stderr %q; want %d and the cause", status, stderr.String(), exitFailed)
			}
		})
	}
}
