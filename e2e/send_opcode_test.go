package e2e

// This file owns what each opcode of the traffic source does to a receiver, and
// that the receiver outlives the rude ones.

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"

	"github.com/rxpost/rxpost/ctl"
)

// opcodeCase is a run of opcodeCount messages, and what both sides say of it.
type opcodeCase struct {
	name     string
	cfg      ctl.RunConfig
	errno    syscall.Errno // 0 for a run that ends as asked
	sentence string        // part of the reason
	verified uint64        // messages that came as sent
	imm      uint64        // of them, with immediate data
	failed   uint64        // of the receives, completed in error
}

const opcodeCount = 10

const forbidden = `"remote invalid request error": the peer does not allow it`

func opcodeCases() []opcodeCase {
	const unread = "10.9.0.1:7471 allows no READ: it accepted without responder resources"
	op := func(op ctl.Opcode, size uint32) ctl.RunConfig {
		return ctl.RunConfig{Opcode: &op, Size: &size}
	}
	invalidate := op(ctl.OpcodeSendInv, 64)
	invalidate.RKey = u32(0x1234)
	return []opcodeCase{
		{name: "send", cfg: op(ctl.OpcodeSend, 64), verified: opcodeCount},
		{name: "send-imm", cfg: op(ctl.OpcodeSendImm, 64), verified: opcodeCount, imm: opcodeCount},
		// The first takes a receive with it: the key is not one, and the QP dies.
		{name: "send-inv", cfg: invalidate, errno: syscall.ECONNRESET, sentence: "the peer closed the connection", failed: 1},
		{name: "write", cfg: op(ctl.OpcodeWrite, 64), errno: syscall.EIO, sentence: forbidden},
		{name: "write nothing", cfg: op(ctl.OpcodeWrite, 0), errno: syscall.EIO, sentence: forbidden},
		{name: "write-imm", cfg: op(ctl.OpcodeWriteImm, 64), errno: syscall.EIO, sentence: forbidden},
		{name: "write-imm nothing", cfg: op(ctl.OpcodeWriteImm, 0), errno: syscall.EIO, sentence: forbidden},
		{name: "read", cfg: op(ctl.OpcodeRead, 64), errno: syscall.EOPNOTSUPP, sentence: unread},
	}
}

// A stranger ends its own connection and nothing else.
func TestSendOpcodes(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	polite := r.flood(ctl.RunConfig{Rate: ptr(uint64(100))})
	told, rude := 0, 0
	for _, tt := range opcodeCases() {
		t.Run(tt.name, func(t *testing.T) {
			run := r.opcode(t, tt)
			if tt.sentence == forbidden {
				rude++
			}
			if strings.Contains(run.Reason, forbidden) {
				told++
			}
		})
	}
	if rude > 0 && told == 0 {
		t.Errorf("of %d senders none was told what is forbidden", rude)
	}
	polite.stop()
	r.delete()
}

// opcode does one case beside the polite run, and looks at both sides.
func (r *rig) opcode(t *testing.T, tt opcodeCase) ctl.Run {
	conns := r.receiver().Conns
	before := r.receiver()
	tt.cfg.Count = ptr(uint64(opcodeCount))
	start := r.startLive
	if tt.errno == syscall.EOPNOTSUPP {
		start = r.start // it ends with its connection, and waits for nobody
	}
	run, err := r.ctl.WaitRun(r.ctx, start(tt.cfg))
	if err != nil {
		t.Fatal(err)
	}
	if run.Opcode != *tt.cfg.Opcode {
		t.Errorf("the run says its opcode is %v", run.Opcode)
	}
	if err := runSettled(run); err != nil {
		t.Error(err)
	}
	if tt.errno == 0 {
		if run.Err() != nil || run.Completed != opcodeCount {
			t.Errorf("completed %d of %d: %v", run.Completed, opcodeCount, run.Err())
		}
	} else if !tt.endsAs(run) {
		t.Errorf("ended with %v\n want %v and %q", run.Err(), tt.errno, tt.sentence)
	}
	var now ctl.Receiver
	r.await("the connection is gone", func() bool {
		now = r.receiver()
		return now.Conns == conns
	})
	r.opcodeCame(t, tt, before, now, run)
	return run
}

// endsAs says whether a run that cannot end as asked ended as it should. rxe has
// the receiver know of what is forbidden before it answers the sender, which may
// see the receiver hang up first.
func (tt opcodeCase) endsAs(run ctl.Run) bool {
	if run.Errno == nil {
		return false
	}
	errno := syscall.Errno(*run.Errno)
	return errno == tt.errno && strings.Contains(run.Reason, tt.sentence) ||
		tt.sentence == forbidden && errno == syscall.ECONNRESET && run.Reason == peerLeft && run.Completed == 0
}

// opcodeCame compares what the receiver counted with what it should, but for the
// messages of the polite run, which are whole.
func (r *rig) opcodeCame(t *testing.T, tt opcodeCase, before, now ctl.Receiver, run ctl.Run) {
	t.Helper()
	old, c := before.Counters, now.Counters
	if tt.errno == 0 && c.Bytes-old.Bytes < tt.verified*uint64(run.Size) {
		t.Errorf("%d bytes came, less than %d messages of %d", c.Bytes-old.Bytes, tt.verified, run.Size)
	}
	if got := c.Imm - old.Imm; got != tt.imm {
		t.Errorf("%d messages with immediate data, want %d", got, tt.imm)
	}
	if got := now.Ledger.Failed - before.Ledger.Failed; got != tt.failed {
		t.Errorf("%d receives failed, want %d", got, tt.failed)
	}
	if c.Messages-old.Messages != c.Verified-old.Verified {
		t.Errorf("of %d messages %d came as sent", c.Messages-old.Messages, c.Verified-old.Verified)
	}
	odd := func(c ctl.Counters) uint64 {
		return c.Gaps + c.Repeats + c.Damaged + c.Unrecognised + c.Bogus + c.Stale
	}
	if odd(c) != odd(old) {
		t.Errorf("counters before and after:\n%+v\n%+v", old, c)
	}
}

// A WRITE that got through, because it came before its QP forbade it: with
// immediate data it uses up a receive and is counted apart, without it nobody
// hears of it. Neither is a message, and the receives go on.
func TestWriteOfNothing(t *testing.T) {
	const count = 1000 // several times all receives
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), Depth: u32(64)})
	for _, tt := range []struct {
		op   ctl.Opcode
		want uint64
	}{{ctl.OpcodeWrite, 0}, {ctl.OpcodeWriteImm, count}} {
		r.fault("access", 1)
		r.send(ctl.RunConfig{Opcode: &tt.op, Size: u32(0), Count: ptr(uint64(count))})
		c := r.alone().Counters
		if c.WriteImm != tt.want || c.Imm != tt.want || c.Messages+c.Bytes+c.Unrecognised+c.Damaged != 0 {
			t.Errorf("%v: %+v", tt.op, c)
		}
	}
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	if ledger := r.deleteSoon(); ledger.Completed != count+100 || ledger.Failed != 0 {
		t.Errorf("ledger: %+v", ledger)
	}
}

// What a device or an opcode cannot do is refused before anything is sent.
func TestSendOpcodeRefused(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		cfg      ctl.RunConfig
		sentence string
	}{
		{ctl.RunConfig{RKey: u32(1)}, "rkey: only for send-inv, write, write-imm and read"},
		{ctl.RunConfig{RemoteAddr: ptr(uint64(1)), Opcode: ptr(ctl.OpcodeSendInv)},
			"remote-addr: only for write, write-imm and read"},
		{ctl.RunConfig{RoundTrip: true, Size: u32(31)}, "round-trip: size must be 32 at least, for a header"},
		{ctl.RunConfig{RoundTrip: true, Opcode: ptr(ctl.OpcodeWrite)}, "round-trip: only for send, send-imm and send-inv"},
		{ctl.RunConfig{AnswerTimeout: ptr(ctl.Milliseconds(100))}, "answer-timeout-ms: only with round-trip"},
		{ctl.RunConfig{RoundTrip: true, AnswerTimeout: ptr(ctl.Milliseconds(9))}, "answer-timeout-ms: must be 10 to 600000"},
		{ctl.RunConfig{Opcode: ptr(ctl.Opcode(6))}, "opcode: must be 0 to 5 (send to read)"},
	} {
		tt.cfg.Addr = listenAddr
		_, err := r.ctl.StartRun(r.ctx, tt.cfg)
		refused(t, err, syscall.EINVAL, tt.sentence)
	}
}

// Where a peer may be written is shown to those who may write there. Everybody else
// sees the run.
func TestKeysAreNotShown(t *testing.T) {
	const key, addr = 0x5ec7e7ed, 0x10000
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	heard := r.hearRuns()
	run := r.heldRuns(1, ctl.RunConfig{
		Opcode: ptr(ctl.OpcodeWrite), RKey: u32(key), RemoteAddr: ptr(uint64(addr)), Count: ptr(uint64(1)),
	})[0]
	mine, err := r.ctl.Run(r.ctx, run.ID)
	if err != nil || mine.RKey != key || mine.RemoteAddr != addr {
		t.Errorf("shown to root: key %#x, address %#x, error %v", mine.RKey, mine.RemoteAddr, err)
	}
	theirs := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: this thread is never root's again
		theirs <- r.shownToNobody(run.ID)
	}()
	if err := <-theirs; err != nil {
		t.Error(err)
	}
	if said := heard(); !bytes.Contains(said, words(run.ID)) || bytes.Contains(said, words(key)) {
		t.Errorf("the event is % x: want run %d, and no key %#x", said, run.ID, key)
	}
	r.release()
	r.alone()
	r.deleteSoon()
}

// hearRuns joins those who are told of runs, which anybody may, and returns what
// returns the next message.
func (r *rig) hearRuns() func() []byte {
	r.t.Helper()
	c, err := genetlink.Dial(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	f, err := c.GetFamily("rxpost_send")
	if err == nil {
		err = c.JoinGroup(f.Groups[0].ID)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return func() []byte {
		r.t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(settleTime)); err != nil {
			r.t.Fatal(err)
		}
		messages, _, err := c.Receive()
		if err != nil || len(messages) == 0 {
			r.t.Fatal(len(messages), err)
		}
		return messages[0].Data
	}
}

// shownToNobody gives up this thread's privileges and looks at a run, and at all.
func (r *rig) shownToNobody(id uint32) error {
	const nobody = 65534
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
		return errno
	}
	c, err := ctl.New()
	if err != nil {
		return err
	}
	defer c.Close()
	run, err := c.Run(r.ctx, id)
	if err != nil {
		return err
	}
	all, err := c.Runs(r.ctx)
	if err != nil {
		return err
	}
	if run.ID != id || len(all) != 1 {
		return fmt.Errorf("run %+v, all %+v", run, all)
	}
	for _, run := range append(all, run) {
		if run.Opcode != ctl.OpcodeWrite || run.RKey != 0 || run.RemoteAddr != 0 {
			return fmt.Errorf("nobody is shown %+v", run)
		}
	}
	return nil
}
