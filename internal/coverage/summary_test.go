package main

// This file owns the tests of the figures.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// path is a summary in which each file of the receive path has these counts.
func path(lines, branches counts) summary {
	var s summary
	for _, name := range receivePath() {
		s.Files = append(s.Files, file{name, lines.total, lines.covered, branches.total, branches.covered})
	}
	return s
}

func TestCheck(t *testing.T) {
	const few, fewer = "90.0 % of the receive path's lines were executed, 90 % are promised",
		"80.0 % of the receive path's branches were executed, 80 % are promised"
	missing := path(counts{100, 100}, counts{100, 100})
	missing.Files = missing.Files[1:]
	empty := path(counts{100, 100}, counts{100, 100})
	empty.Files[0] = file{Name: "kmod/rxpost.c"}
	elsewhere := path(counts{90, 100}, counts{100, 100})
	elsewhere.Files = append(elsewhere.Files, file{"kmod/echo.c", 1000, 1000, 0, 0})
	tests := []struct {
		name string
		s    summary
		want string
	}{
		{"kept", path(counts{91, 100}, counts{81, 100}), ""},
		{"lines", path(counts{90, 100}, counts{81, 100}), few},
		{"branches", path(counts{91, 100}, counts{80, 100}), fewer},
		{"both", path(counts{90, 100}, counts{80, 100}), few + "\n" + fewer},
		{"a file is missing", missing, "there are no figures of kmod/rxpost.c"},
		{"a file is empty", empty, "there are no figures of kmod/rxpost.c"},
		{"others do not help", elsewhere, few},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.s.check(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A file of the list that was renamed would be promised nothing.
func TestReceivePathExists(t *testing.T) {
	for _, name := range receivePath() {
		if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestTable(t *testing.T) {
	s := summary{Files: []file{{"kmod/echo.c", 10, 5, 0, 0}, {"kmod/conn.c", 200, 199, 3, 1}}}
	const want = `FILE              LINES               BRANCHES  
kmod/conn.c       199 of 200  99.5 %  1 of 3    33.3 %
the receive path  199 of 200  99.5 %  1 of 3    33.3 %
kmod/echo.c       5 of 10     50.0 %  0 of 0    100.0 %
all else          5 of 10     50.0 %  0 of 0    100.0 %
`
	if diff := cmp.Diff(want, s.table()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
