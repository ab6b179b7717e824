package harness

// This file owns the tests of reading apt's sources.

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	deb822Text = `# a comment
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/k.gpg

Types: deb
URIs: http://mirror.example/debian-security/
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb-src
URIs: http://src.example/debian
Suites: bookworm
Components: main
`
	oneLineText = `# deb http://old.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://third.example/linux/debian bookworm stable
deb [ signed-by=/d.gpg trusted=yes ] http://mirror.example/debian trixie main non-free # ours
deb http://mirror.example/debian-security trixie-security main
`
)

func TestParseSources(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             []aptSource
	}{
		{"deb822", "a.sources", deb822Text, []aptSource{
			{
				URIs: []string{"http://mirror.example/debian"}, Suites: []string{"bookworm", "bookworm-updates"},
				Components: []string{"main", "contrib"}, SignedBy: "/usr/share/keyrings/k.gpg",
			},
			{
				URIs: []string{"http://mirror.example/debian-security/"}, Suites: []string{"bookworm-security"},
				Components: []string{"main"},
				SignedBy:   "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----",
			},
		}},
		{"one line", "sources.list", oneLineText, []aptSource{
			{
				URIs: []string{"http://third.example/linux/debian"}, Suites: []string{"bookworm"},
				Components: []string{"stable"}, SignedBy: "/k.gpg",
			},
			{
				URIs: []string{"http://mirror.example/debian"}, Suites: []string{"trixie"},
				Components: []string{"main", "non-free"}, SignedBy: "/d.gpg",
			},
			{
				URIs: []string{"http://mirror.example/debian-security"}, Suites: []string{"trixie-security"},
				Components: []string{"main"},
			},
		}},
		{"empty", "sources.list", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseSources(tt.file, tt.text)); diff != "" {
				t.Errorf("sources (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPickSource(t *testing.T) {
	tests := []struct {
		name, file, text, suite, uri string
	}{
		{"own suite", "a.sources", deb822Text, "bookworm", "http://mirror.example/debian"},
		{"security", "a.sources", deb822Text, "bookworm-security", "http://mirror.example/debian-security/"},
		{"newer host", "sources.list", oneLineText, "bookworm", "http://mirror.example/debian"},
		{"newer host, security", "sources.list", oneLineText, "bookworm-security", "http://mirror.example/debian-security"},
		{"only third parties", "sources.list", "deb http://third.example/linux/debian bookworm stable", "bookworm", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := pickSource(parseSources(tt.file, tt.text), tt.suite)
			if (err != nil) != (tt.uri == "") {
				t.Fatalf("error %v", err)
			}
			if err == nil && (s.URIs[0] != tt.uri || s.Suites[0] != tt.suite) {
				t.Errorf("got %v %v, want %s %s", s.URIs, s.Suites, tt.uri, tt.suite)
			}
		})
	}
}

func TestMirrorSource(t *testing.T) {
	for suite, want := range map[string]string{
		"bookworm":          "http://m.example/x/debian",
		"bookworm-security": "http://m.example/x/debian-security",
	} {
		if got := mirrorSource("http://m.example/x/debian/", suite, "").URIs[0]; got != want {
			t.Errorf("%s: got %s, want %s", suite, got, want)
		}
	}
}

// What is written must be read back as the same archives.
func TestDeb822RoundTrip(t *testing.T) {
	want := parseSources("a.sources", deb822Text)
	if diff := cmp.Diff(want, parseSources("b.sources", deb822(want))); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

func TestDepends(t *testing.T) {
	got := depends(map[string]string{"Depends": "kmod, linux-image-1 (= 1-2) | linux-image-1-unsigned (= 1-2), linux-kbuild-1, kmod"})
	if diff := cmp.Diff([]string{"kmod", "linux-image-1", "linux-kbuild-1"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
