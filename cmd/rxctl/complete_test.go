// This file tests what the shell offers.

package main

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rxpost/rxpost/ctl"
)

// complete returns the words that are offered for a command line whose last
// word is being typed, without their descriptions.
func complete(t *testing.T, env *environment, line string) (words []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env.stdout, env.stderr = &stdout, &stderr
	env.dial = func() (client, error) {
		t.Errorf("%s: the module may have been loaded", line)
		return nil, errors.New("not here")
	}
	status := run(t.Context(), env, append([]string{"__complete"}, strings.Split(line, " ")...))
	if status != exitDone || strings.Contains(stderr.String(), "rxctl:") {
		t.Errorf("%s: exit status %d, stderr %q", line, status, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; last != ":4" { // no files
		t.Errorf("%s: directive %q", line, last)
	}
	for _, l := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(l, "\t")
		words = append(words, word)
	}
	return words
}

// completing is an environment with two receivers, one of which listens.
func completing() (*environment, *fakeClient) {
	waiting := testReceiver()
	waiting.Name, waiting.Port, waiting.State = "r1", 7472, ctl.ReceiverStateNoDevice
	conns := []ctl.Conn{testConn(), testConn()}
	conns[1].Index = 12
	f := &fakeClient{receivers: []ctl.Receiver{testReceiver(), waiting}, conns: conns}
	return &environment{
		passive: func() (client, error) { return f, nil },
		devices: fakeDevices{err: errors.New("netlink was asked")}, sys: fakeSys(), addrs: fakeAddrs,
	}, f
}

func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"recv show ":                        "r0 r1",
		"recv show r0 ":                     "",
		"recv set ":                         "r0 r1",
		"recv del ":                         "r0 r1",
		"recv add ":                         "",
		"stats ":                            "r0 r1",
		"conn show ":                        "",
		"conn show --recv ":                 "r0 r1",
		"conn show --conn ":                 "",
		"conn show --recv r0 --conn ":       "1 12",
		"recv add r9 --addr ":               "10.9.0.1:7473 [fd00::1]:7471",
		"recv add r9 --device ":             "rxe0",
		"recv add r9 --poll ":               "hybrid busy event",
		"recv add r9 --sink ":               "discard verify echo",
		"recv add r9 --cpu ":                "0 1 2 8 9 any",
		"recv add r9 --cpu 8,0,":            "8,0,1 8,0,2 8,0,9",
		"recv set r0 --allow ":              "10.9.0.0/24 fd00::/64 any",
		"recv set r0 --allow 10.9.0.0/24,f": "10.9.0.0/24,fd00::/64",
		"recv set r0 --poll e":              "hybrid busy event",
		"recv add r9 --depth ":              "",
		"recv set r0 --hold ":               "",
		"link add rxe1 --type ":             "rxe siw",
		"link add rxe1 --netdev ":           "eth0 lo",
		"link add ":                         "",
		"link del ":                         "rxe0",
		"link del rxe0 ":                    "",
		"stats r0 --watch=":                 "",
		"monitor ":                          "",
		"version ":                          "",
		"completion ":                       "bash zsh fish",
		"conn ":                             "show",
		"help recv ":                        "add del set show",
		"help recv add ":                    "",
	} {
		t.Run(line, func(t *testing.T) {
			env, _ := completing()
			if diff := cmp.Diff(strings.Fields(want), complete(t, env, line), cmpEmpty()); diff != "" {
				t.Errorf("words (-want +got):\n%s", diff)
			}
		})
	}
}

// cmpEmpty takes no words for no words.
func cmpEmpty() cmp.Option {
	return cmp.Transformer("words", func(words []string) string { return strings.Join(words, " ") })
}

// TestCompleteFlags offers in recv set what can be set.
func TestCompleteFlags(t *testing.T) {
	env, _ := completing()
	words := complete(t, env, "recv set r0 --")
	all := strings.Join(words, " ")
	if !strings.Contains(all, "--batch") || !strings.Contains(all, "--allow") || strings.Contains(all, "--sink") {
		t.Errorf("flags offered: %s", all)
	}
}

func TestCompleteListening(t *testing.T) {
	env, _ := completing()
	cmd := rootCommand(env)
	cmd.SetContext(t.Context())
	words := env.completeListening(cmd, "")
	if diff := cmp.Diff([]string{"10.9.0.1:7471\tr0"}, words); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

// TestCompleteNothing offers nothing, and complains of nothing, where nothing
// can be found out.
func TestCompleteNothing(t *testing.T) {
	env, f := completing()
	f.err, f.receivers, f.conns = &ctl.Error{Op: "show receivers", Err: ctl.ErrNotLoaded}, nil, nil
	env.sys = fstest.MapFS{}
	for _, line := range []string{"recv show ", "conn show --recv ", "conn show --recv r0 --conn ", "recv add r9 --addr ",
		"recv add r9 --device ", "recv add r9 --cpu ", "link del "} {
		if words := complete(t, env, line); len(words) != 0 {
			t.Errorf("%s: offered %q", line, words)
		}
	}
	env.passive = func() (client, error) { return nil, errors.New("no socket") }
	if words := complete(t, env, "recv show "); len(words) != 0 {
		t.Errorf("offered %q without a socket", words)
	}
	if !f.closed {
		t.Error("the client was left open")
	}
}

func TestFreePort(t *testing.T) {
	env, f := completing()
	f.receivers[0].Addr = netip.MustParseAddr("fd00::1")
	if diff := cmp.Diff("10.9.0.1:7471 [fd00::1]:7472", strings.Join(complete(t, env, "recv add r9 --addr "), " ")); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

func TestCPUNumbers(t *testing.T) {
	for text, want := range map[string]string{"0": "0", "0-3": "0 1 2 3", "0-1,4,6-7": "0 1 4 6 7", "": "", "x": "", "0-": ""} {
		if got := strings.Join(cpuNumbers(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, part := range map[string]string{"bash": "__start_rxctl", "zsh": "#compdef rxctl", "fish": "complete -c rxctl"} {
		r := rxctl(t.Context(), &fakeClient{}, "completion", shell)
		r.want(t, exitDone)
		if !strings.Contains(r.stdout, part) || !strings.Contains(r.stdout, "__complete") {
			t.Errorf("%s: no script with %q: %.200s", shell, part, r.stdout)
		}
	}
}
