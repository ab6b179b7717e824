package harness

// This file owns the tests of a run's plan: QEMU's command line, deadlines,
// what go test needs, and the result files.

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rxpost/rxpost/harness/wire"
)

func TestQEMUArgs(t *testing.T) {
	common := "-machine q35 -cpu max -nodefaults -no-user-config -nic none -no-reboot -display none -m 512M "
	tests := []struct {
		name string
		m    machine
		want string
	}{
		{
			"kvm", machine{accel: KVM, smp: 2, memory: 512, kernel: "/k"},
			common + "-accel kvm -smp 2 -kernel /k -append console=ttyS0 panic=-1 oops=panic",
		},
		{
			"tcg", machine{accel: TCG, smp: 4, memory: 512, kernel: "/k", initrd: 3, serials: []int{4, 5}, kargs: []string{"panic=0"}},
			common + "-accel tcg,thread=multi -smp 4 " +
				"-chardev socket,id=serial0,fd=4 -serial chardev:serial0 -chardev socket,id=serial1,fd=5 -serial chardev:serial1 " +
				"-initrd /proc/self/fd/3 -kernel /k -append console=ttyS0 panic=-1 oops=panic no_timer_check maxcpus=1 panic=0",
		},
		{
			"icount", machine{accel: ICount, smp: 1, memory: 512, kernel: "/k"},
			common + "-accel tcg,thread=single -icount shift=0,sleep=off -smp 1 -kernel /k -append console=ttyS0 panic=-1 oops=panic no_timer_check",
		},
		{
			"gdb", machine{accel: KVM, smp: 1, memory: 512, kernel: "/k", gdb: "tcp:127.0.0.1:1234"},
			common + "-accel kvm -smp 1 -gdb tcp:127.0.0.1:1234 -kernel /k -append console=ttyS0 panic=-1 oops=panic nokaslr",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, strings.Join(qemuArgs(tt.m), " ")); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		accel   Accel
		test    time.Duration
		want    time.Duration
	}{
		{"default", 0, KVM, 0, commandTime},
		{"emulated", 0, TCG, 0, TCG.Scale(commandTime)},
		{"asked", time.Second, TCG, time.Hour, time.Second},
		{"a test's own is first", 0, KVM, time.Hour, time.Hour + testGrace},
		{"a short test", 0, TCG, time.Second, TCG.Scale(commandTime)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Config{Timeout: tt.timeout}).deadline(tt.accel, tt.test); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDebuggedHasTime(t *testing.T) {
	c := Config{GDB: "1234"}
	if got := c.deadline(TCG, time.Second); got != debugTime {
		t.Errorf("the command's deadline is %v, want %v", got, debugTime)
	}
	if got := c.limit(KVM, bootTime); got != debugTime {
		t.Errorf("the boot's limit is %v, want %v", got, debugTime)
	}
	c.Timeout = time.Minute
	if got := c.deadline(TCG, 0); got != time.Minute {
		t.Errorf("the command's deadline is %v, as asked it is 1m", got)
	}
}

func TestGDBDevice(t *testing.T) {
	tests := []struct{ where, want, err string }{
		{"", "", ""},
		{"1234", "tcp:127.0.0.1:1234", ""},
		{"/tmp/gdb.sock", "unix:/tmp/gdb.sock,server=on,wait=off", ""},
		{"0", "", "--gdb 0: want a port, 1 to 65535, or the path of a socket, with a /"},
		{"65536", "", "--gdb 65536: want a port, 1 to 65535, or the path of a socket, with a /"},
		{"gdb.sock", "", "--gdb gdb.sock: want a port, 1 to 65535, or the path of a socket, with a /"},
		{"/a,b", "", "--gdb /a,b: a path without a comma is wanted, QEMU splits its options there"},
	}
	for _, tt := range tests {
		got, err := gdbDevice(tt.where)
		if got != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) {
			t.Errorf("%q: %q, %v; want %q, %q", tt.where, got, err, tt.want, tt.err)
		}
	}
}

func TestParseGoTest(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want goTest
		ok   bool
	}{
		{"no test", []string{"/bin/ls", "-l", "--color=auto"}, goTest{}, false},
		{
			"a test", []string{"/t/e2e.test", "-test.paniconexit0", "-test.timeout=10m0s", "-test.v=true", "-test.run=A", "x"},
			goTest{timeout: 10 * time.Minute, mkdirs: []string{"/src", "/src"}}, true,
		},
		{
			"profiles", []string{"/t/e2e.test", "-test.coverprofile=/t/c.out", "-test.cpuprofile=cpu.out", "-test.outputdir=/out"},
			goTest{files: []string{"/t/c.out", "/out/cpu.out"}, mkdirs: []string{"/t", "/out", "/src", "/out"}}, true,
		},
		{
			"log and coverage", []string{"/t/e2e.test", "-test.testlogfile=/t/log/l.txt", "-test.gocoverdir=/t/cov"},
			goTest{dirs: []string{"/t/cov"}, mkdirs: []string{"/t/log", "/t/cov", "/src", "/src"}}, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseGoTest(tt.args, "/src")
			if ok != tt.ok {
				t.Fatalf("a test: %v, want %v", ok, tt.ok)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(goTest{})); ok && diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPackageDir(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"a_test.go": 1, "testdata/x/y": 1, "sub/z": 1, "big": maxPackageFile + 1} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(p, size); err != nil {
			t.Fatal(err)
		}
	}
	p, err := newPayload()
	if err != nil {
		t.Fatal(err)
	}
	left, err := p.packageDir(dir)
	if diff := cmp.Diff([]string{"big"}, left); err != nil || diff != "" {
		t.Errorf("left out: %v (-want +got):\n%s", err, diff)
	}
	for name, want := range map[string]bool{"a_test.go": true, "testdata/x/y": true, "sub/z": false, "big": false} {
		if _, got := p.archive.entries[clean(filepath.Join(dir, name))]; got != want {
			t.Errorf("%s travels: %v, want %v", name, got, want)
		}
	}
}

// A guest writes what was asked for, whole or not at all, and nothing else.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	name := func(n string) string { return filepath.Join(dir, n) }
	send := func(frames func(w *wire.Writer)) error {
		host, guest := net.Pipe()
		pl := &plan{outputs: map[string]bool{name("whole"): true, name("cut"): true}, outDirs: []string{name("cov")}}
		p := newPayloadPort(host, pl, Config{})
		go func() {
			frames(wire.NewWriter(guest))
			guest.Close()
		}()
		p.read()
		return p.err()
	}
	if err := os.Mkdir(name("cov"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := send(func(w *wire.Writer) {
		w.Frame(wire.FileName, []byte(name("whole")))
		w.Frame(wire.FileData, []byte("abc"))
		w.Frame(wire.FileName, []byte(name("cov/x")))
		w.Frame(wire.End, nil)
	})
	if got, _ := os.ReadFile(name("whole")); err != nil || string(got) != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
	if !exists(name("cov/x")) {
		t.Error("the empty file in the asked folder is missing")
	}
	if err := send(func(w *wire.Writer) {
		w.Frame(wire.FileName, []byte(name("cut")))
		w.Frame(wire.FileData, []byte("ab"))
	}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"other", "cov/../other", "cov/a/b"} {
		if err := send(func(w *wire.Writer) { w.Frame(wire.FileName, []byte(dir+"/"+bad)) }); err == nil {
			t.Errorf("%s was written", bad)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if diff := cmp.Diff([]string{name("cov"), name("whole")}, left); err != nil || diff != "" {
		t.Errorf("files: %v (-want +got):\n%s", err, diff)
	}
}
