package e2e

// This file owns the list of the package's tests, and the part of it that
// RXPOST_SHARD asks for: "2/3" is the second third. `make test-debug` runs one VM
// for each part, two at a time.

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tests returns the tests of this package, with their files.
func tests(t *testing.T) map[*ast.FuncDecl]string {
	t.Helper()
	found, err := listTests()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func listTests() (map[*ast.FuncDecl]string, error) {
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("the package's files are not in the working directory")
	}
	found := map[*ast.FuncDecl]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f] = name
			}
		}
	}
	return found, nil
}

// otherShards returns the tests that are not in the part that shard names, of all
// but those left out; none if it is empty.
func otherShards(shard string, leftOut map[string]string) ([]string, error) {
	if shard == "" {
		return nil, nil
	}
	var part, parts int
	if n, err := fmt.Sscanf(shard+"\n", "%d/%d\n", &part, &parts); n != 2 || err != nil || part < 1 || part > parts {
		return nil, fmt.Errorf("RXPOST_SHARD=%s: want PART/PARTS, as 1/3", shard)
	}
	found, err := listTests()
	if err != nil {
		return nil, err
	}
	var names []string
	for f := range found {
		if _, out := leftOut[f.Name.Name]; !out && f.Name.Name != "TestMain" {
			names = append(names, f.Name.Name)
		}
	}
	slices.Sort(names)
	var others []string
	for i, name := range names {
		if i%parts != part-1 {
			others = append(others, name)
		}
	}
	return others, nil
}

// Each test that is not left out is in one part, and in one only.
func TestShardsAreAllTests(t *testing.T) {
	const parts = 3
	leftOut := map[string]string{"TestShardsAreAllTests": "as an example"}
	missed := map[string]int{}
	for part := range parts {
		others, err := otherShards(fmt.Sprintf("%d/%d", part+1, parts), leftOut)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range others {
			missed[name]++
		}
	}
	want := map[string]int{}
	for f := range tests(t) {
		if name := f.Name.Name; name != "TestMain" && name != "TestShardsAreAllTests" {
			want[name] = parts - 1
		}
	}
	if diff := cmp.Diff(want, missed); diff != "" {
		t.Errorf("in how many parts each test is not (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"0/3", "4/3", "1", "1/", "x/3", "1/3x"} {
		if others, err := otherShards(bad, nil); err == nil {
			t.Errorf("%q is taken, without %v", bad, others)
		}
	}
}
