package harness

// This file owns the tests of what coverage needs on the host's side.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rxpost/rxpost/harness/wire"
)

// A run's folder has the notes of its build and nothing else, and takes the
// counts that belong to them and nothing else.
func TestPrepareCoverage(t *testing.T) {
	built, dir := t.TempDir(), filepath.Join(t.TempDir(), "counts")
	for _, name := range []string{"conn.gcno", "send/conn.gcno", "rxpost_recv.ko"} {
		writeFile(t, filepath.Join(built, name), name)
	}
	writeFile(t, filepath.Join(dir, "old.gcda"), "of another build")
	pl := &plan{outputs: map[string]bool{}}
	if err := (Config{Coverage: dir}).prepareCoverage(pl, built, "/work"); err != nil {
		t.Fatal(err)
	}
	notes, err := notesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"conn.gcno", "send/conn.gcno"}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if exists(filepath.Join(dir, "old.gcda")) {
		t.Error("counts of another build were left there")
	}
	if diff := cmp.Diff(&wire.Coverage{Objects: "/work", Dir: dir}, pl.spec.Coverage); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	for name, may := range map[string]bool{
		"conn.gcda": true, "send/conn.gcda": true, "conn.gcno": false, "queue.gcda": false, "../conn.gcda": false,
	} {
		if got := pl.mayWrite(filepath.Join(dir, name)); got != may {
			t.Errorf("the guest may write %s: %v", name, got)
		}
	}
}

// Nothing but what a run of coverage wrote is ever removed.
func TestCoverageIntoSomebodysFolder(t *testing.T) {
	dir := t.TempDir()
	counts, letter := filepath.Join(dir, "a", "old.gcda"), filepath.Join(dir, "z", "letter.txt")
	writeFile(t, counts, "counts")
	writeFile(t, letter, "words")
	pl := &plan{outputs: map[string]bool{}}
	err := (Config{Coverage: dir}).prepareCoverage(pl, t.TempDir(), "/work")
	if err == nil || !strings.Contains(err.Error(), letter+" is not of a coverage run") {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{counts, letter} {
		if !exists(name) {
			t.Errorf("%s was removed", name)
		}
	}
}

func TestNoCoverage(t *testing.T) {
	pl := &plan{outputs: map[string]bool{}}
	if err := (Config{}).prepareCoverage(pl, "/no such", "/work"); err != nil || pl.spec.Coverage != nil || len(pl.outputs) != 0 {
		t.Errorf("%v, %+v", err, pl)
	}
	for _, arg := range makeArgs(Kernel{}, Build{}, "/work", ".") {
		if strings.Contains(arg, "GCOV") || strings.Contains(arg, "profile") {
			t.Errorf("an ordinary build has %s", arg)
		}
	}
}

// A compiler that leaves no notes would otherwise look like code nobody needs.
func TestCopyNotes(t *testing.T) {
	work, out := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(work, "gone.gcno"), "")
	if err := copyNotes(work, out); err == nil {
		t.Error("no notes, and no error")
	}
	writeFile(t, filepath.Join(work, "conn.gcno"), "")
	writeFile(t, filepath.Join(work, "conn.c"), "")
	if err := copyNotes(work, out); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadDir(out); err != nil || len(got) != 1 || got[0].Name() != "conn.gcno" {
		t.Errorf("%v, %v", got, err)
	}
}
