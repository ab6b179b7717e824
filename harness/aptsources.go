package harness

// This file owns reading the host's apt sources, in both of apt's formats, and
// picking the Debian archives out of them.

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// aptSource is one archive: what apt needs to find and to verify it.
type aptSource struct {
	URIs       []string
	Suites     []string
	Components []string
	SignedBy   string // file name, or an inline key with its line breaks
}

// parseSources reads a sources file; name decides its format.
func parseSources(name, text string) []aptSource {
	if strings.HasSuffix(name, ".sources") {
		return parseDeb822(text)
	}
	return parseOneLine(text)
}

// parseOneLine reads "deb [options] uri suite component…" lines.
func parseOneLine(text string) []aptSource {
	var out []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "deb" {
			continue
		}
		var s aptSource
		rest = strings.TrimSpace(rest)
		if opts, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(opts, "[") {
			for _, o := range strings.Fields(opts[1:]) {
				if v, ok := strings.CutPrefix(o, "signed-by="); ok {
					s.SignedBy = v
				}
			}
			rest = after
		}
		f := strings.Fields(rest)
		if len(f) < 2 {
			continue
		}
		s.URIs, s.Suites, s.Components = f[:1], f[1:2], f[2:]
		out = append(out, s)
	}
	return out
}

// parseDeb822 reads stanzas of "Field: value" with continuation lines.
func parseDeb822(text string) []aptSource {
	var out []aptSource
	field, key := map[string]string{}, ""
	flush := func() {
		if slices.Contains(strings.Fields(field["types"]), "deb") && field["enabled"] != "no" {
			out = append(out, aptSource{
				URIs:       strings.Fields(field["uris"]),
				Suites:     strings.Fields(field["suites"]),
				Components: strings.Fields(field["components"]),
				SignedBy:   field["signed-by"],
			})
		}
		field, key = map[string]string{}, ""
	}
	for line := range strings.Lines(text + "\n\n") {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
			flush()
		case strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			field[key] += "\n" + line
		default:
			k, v, _ := strings.Cut(line, ":")
			key = strings.ToLower(k)
			field[key] = strings.TrimSpace(v)
		}
	}
	return out
}

// isSecurity says whether a suite lives in the security archive.
func isSecurity(suite string) bool { return strings.HasSuffix(suite, "-security") }

// pickSource returns the host's archive for a Debian suite. A source that
// lists the suite itself is best; otherwise one for another suite of the same
// archive will do, because an archive carries them all.
func pickSource(host []aptSource, suite string) (aptSource, error) {
	var fallback *aptSource
	for i, s := range host {
		if !isDebian(s, suite) {
			continue
		}
		if slices.Contains(s.Suites, suite) {
			return only(s, suite), nil
		}
		if fallback == nil {
			fallback = &host[i]
		}
	}
	if fallback == nil {
		return aptSource{}, fmt.Errorf("no Debian archive with the suite %s in the host's apt sources; set DEBIAN_MIRROR", suite)
	}
	return only(*fallback, suite), nil
}

// isDebian says whether s looks like the Debian archive that has the suite.
// Third parties publish suites of the same names; Debian's archives are the
// ones with a component "main" under a path that ends in debian.
func isDebian(s aptSource, suite string) bool {
	if !slices.Contains(s.Components, "main") || len(s.URIs) == 0 {
		return false
	}
	base := path.Base(strings.TrimRight(s.URIs[0], "/"))
	if isSecurity(suite) {
		return strings.HasSuffix(base, "debian-security") || slices.Contains(s.Suites, suite)
	}
	return base == "debian" && !slices.ContainsFunc(s.Suites, isSecurity)
}

func only(s aptSource, suite string) aptSource {
	return aptSource{URIs: s.URIs, Suites: []string{suite}, Components: []string{"main"}, SignedBy: s.SignedBy}
}

// mirrorSource is the archive under DEBIAN_MIRROR, with the host's keyring.
func mirrorSource(mirror, suite, signedBy string) aptSource {
	mirror = strings.TrimRight(mirror, "/")
	if isSecurity(suite) {
		mirror = strings.TrimSuffix(mirror, "debian") + "debian-security"
	}
	return aptSource{URIs: []string{mirror}, Suites: []string{suite}, Components: []string{"main"}, SignedBy: signedBy}
}

// deb822 renders sources for the private apt root. Only package lists of one
// architecture are wanted, whatever else the host's configuration asks for.
func deb822(sources []aptSource) string {
	var b strings.Builder
	for _, s := range sources {
		fmt.Fprintf(&b, "Types: deb\nURIs: %s\nSuites: %s\nComponents: %s\nArchitectures: amd64\nTargets: Packages\n",
			strings.Join(s.URIs, " "), strings.Join(s.Suites, " "), strings.Join(s.Components, " "))
		if s.SignedBy != "" {
			fmt.Fprintf(&b, "Signed-By: %s\n", s.SignedBy)
		}
		b.WriteString("\n")
	}
	return b.String()
}
