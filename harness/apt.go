package harness

// This file owns the private apt root: Debian packages without root rights and
// without a trace on the host's own apt.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// debianKeyring verifies the archives when the host's sources name no key.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// apt runs apt's programs on a root of its own. Configuration that says how to
// reach the network (proxies, credentials) is still the host's.
type apt struct {
	dir  string
	conf string
	lock *Lock // of dir
}

// openApt prepares the root in dir for the given suites.
func openApt(dir string, lock *Lock, suites []string) (*apt, error) {
	sources, err := findSources(suites)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("apt root: %w", err)
		}
	}
	a := &apt{dir: dir, conf: filepath.Join(dir, "apt.conf"), lock: lock}
	files := map[string]string{
		"apt.conf":        aptConf(dir),
		"status":          "",
		"kernels.sources": deb822(sources),
		"extended_states": "",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("apt root: %w", err)
		}
	}
	return a, touch(dir)
}

// aptConf is read after the host's configuration, so that it has the last word
// and can clear the hooks a host runs after an update.
func aptConf(dir string) string {
	return fmt.Sprintf(`#clear APT::Update;
#clear DPkg::Post-Invoke;
#clear Acquire::IndexTargets::deb::DEP-11;
Dir::Etc::sourcelist "%[1]s/kernels.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "%[1]s";
Dir::State::lists "%[1]s/lists";
Dir::State::status "%[1]s/status";
Dir::State::extended_states "%[1]s/extended_states";
Dir::Cache "%[1]s/cache";
Dir::Cache::archives "%[1]s/cache/archives";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
`, dir)
}

// findSources finds the archive of each suite.
func findSources(suites []string) ([]aptSource, error) {
	host, err := hostSources()
	if err != nil {
		return nil, err
	}
	mirror := os.Getenv("DEBIAN_MIRROR")
	var out []aptSource
	for _, suite := range suites {
		s, err := pickSource(host, suite)
		if mirror != "" {
			s, err = mirrorSource(mirror, suite, s.SignedBy), nil
		}
		if err != nil {
			return nil, err
		}
		if s.SignedBy == "" {
			s.SignedBy = debianKeyring
		}
		out = append(out, s)
	}
	return out, nil
}

// hostSources reads every sources file of the host.
func hostSources() ([]aptSource, error) {
	var files []string
	for _, glob := range []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources"} {
		m, err := filepath.Glob(glob)
		if err != nil {
			return nil, fmt.Errorf("apt sources: %w", err)
		}
		files = append(files, m...)
	}
	var out []aptSource
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("apt sources: %w", err)
		}
		out = append(out, parseSources(f, string(text))...)
	}
	return out, nil
}

// update fetches the package lists.
func (a *apt) update(ctx context.Context) error {
	_, err := runHolding(ctx, a.lock, a.dir, "apt-get", "-c", a.conf, "-q", "update", "--error-on=any")
	return err
}

// download puts packages, each "name=version", into dir. apt verifies them
// against the signed lists.
func (a *apt) download(ctx context.Context, dir string, packages []string) error {
	args := append([]string{"apt-get", "-c", a.conf, "-q", "download"}, packages...)
	_, err := runHolding(ctx, a.lock, dir, args...)
	return err
}

// show returns the fields of a package's candidate, or of "name=version".
// ok is false when the archive does not have it.
func (a *apt) show(ctx context.Context, pkg string) (fields map[string]string, ok bool, err error) {
	out, err := run(ctx, a.dir, "apt-cache", "-c", a.conf, "show", "--no-all-versions", pkg)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, err
		}
		return nil, false, nil
	}
	fields = map[string]string{}
	for line := range strings.Lines(out) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != ' ' {
			fields[k] = v
		}
	}
	return fields, fields["Version"] != "", nil
}

// depends lists the names in a package's Depends field.
func depends(fields map[string]string) []string {
	var out []string
	for d := range strings.SplitSeq(fields["Depends"], ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(d), " ")
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
