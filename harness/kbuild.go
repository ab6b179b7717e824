package harness

// This file owns kernels that are built here, from Debian's source and the
// options in vm/config.

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// buildLayout changes when this code builds or installs something else.
const buildLayout = "1"

// releaseFile is the file of a built kernel's cache entry that holds what
// uname -r says.
const releaseFile = "release"

// OptionsError means that a kernel's configuration is not what vm/config asks
// for: an option that does not exist (any more), or that another one forbids.
type OptionsError struct {
	Kernel  string
	Options []string // as vm/config has them
}

func (e *OptionsError) Error() string {
	return fmt.Sprintf("kernel %s: its source does not take these options of vm/config: %s",
		e.Kernel, strings.Join(e.Options, ", "))
}

// option is a line of a configuration: CONFIG_X=y, or CONFIG_X without a value
// for what must be off.
type option struct{ name, value string }

func (o option) String() string {
	if o.value == "" {
		return o.name + " is not set"
	}
	return o.name + "=" + o.value
}

var optionLine = regexp.MustCompile(`^(?:(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set)$`)

// parseOptions lists the options in a configuration's text.
func parseOptions(text string) []option {
	var out []option
	for line := range strings.Lines(text) {
		if m := optionLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			out = append(out, option{name: m[1] + m[3], value: m[2]})
		}
	}
	return out
}

// refused lists what was asked for and is not so in the configuration.
func refused(asked, config []option) []string {
	has := map[string]string{}
	for _, o := range config {
		has[o.name] = o.value
	}
	var out []string
	for _, o := range asked {
		if has[o.name] != o.value {
			out = append(out, o.String())
		}
	}
	return out
}

// recipe is all that decides what a built kernel is.
type recipe struct {
	spec   KernelSpec
	lock   KernelLock
	config string // the fragments, one after the other
	hash   string
}

// key is the recipe's cache entry.
func (r recipe) key() string {
	return filepath.Join("kernels", r.spec.Name+"-"+r.lock.Version+"-"+r.hash)
}

// recipe reads the fragments of a kernel and asks which compiler there is: the
// modules are built with the same one.
func (k *Kernels) recipe(ctx context.Context, spec KernelSpec, lock KernelLock) (recipe, error) {
	r := recipe{spec: spec, lock: lock}
	for _, name := range spec.Config {
		text, err := os.ReadFile(filepath.Join(k.dir, "config", name+".config"))
		if err != nil {
			return r, fmt.Errorf("kernel %s: %w", spec.Name, err)
		}
		r.config += string(text)
	}
	gcc, err := run(ctx, "", "gcc", "--version")
	if err != nil {
		return r, fmt.Errorf("kernel %s: %w; make deps installs it", spec.Name, err)
	}
	h := sha256.New()
	for _, s := range []string{buildLayout, spec.Name, lock.Source, r.config, gcc} {
		fmt.Fprintf(h, "%q\n", s)
	}
	r.hash = hex.EncodeToString(h.Sum(nil))[:8]
	return r, nil
}

// fetchBuilt returns a kernel that is built here, and builds it first if the
// cache does not have it.
func (f *Fetcher) fetchBuilt(ctx context.Context, spec KernelSpec) (Kernel, error) {
	r, err := f.Kernels.recipe(ctx, spec, f.Kernels.Locks[spec.Name])
	if err != nil {
		return Kernel{}, err
	}
	if ok, err := f.Cache.Use(r.key()); ok || err != nil {
		return f.builtKernel(r, err)
	}
	lock, err := f.available(ctx, spec, func(l KernelLock) []string { return []string{l.Source} })
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", spec.Name, err)
	}
	if r, err = f.Kernels.recipe(ctx, spec, lock); err != nil {
		return Kernel{}, err
	}
	if other, err := f.Cache.tryLock(r.key()); err != nil {
		return Kernel{}, err
	} else if other != nil {
		other.Unlock()
	} else {
		f.say("waiting for another process that builds kernel %s", spec.Name)
	}
	_, err = f.Cache.Ensure(ctx, r.key(), func(dir string) error { return f.buildKernel(ctx, r, dir) })
	return f.builtKernel(r, err)
}

// builtKernel is the kernel in the recipe's cache entry.
func (f *Fetcher) builtKernel(r recipe, err error) (Kernel, error) {
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", r.spec.Name, err)
	}
	k := Kernel{Name: r.spec.Name, Version: r.lock.Version, Root: f.Cache.Path(r.key()), Memory: r.spec.Memory}
	release, err := os.ReadFile(filepath.Join(k.Root, releaseFile))
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", r.spec.Name, err)
	}
	k.Release = strings.TrimSpace(string(release))
	return k, nil
}

// kernelBuild is one kernel on its way into the cache.
type kernelBuild struct {
	recipe
	src, out string // source and objects
	dir      string // the cache entry
	progress *buildProgress
}

// buildKernel unpacks, configures, builds and installs a kernel.
func (f *Fetcher) buildKernel(ctx context.Context, r recipe, dir string) error {
	tmp, remove, err := f.Cache.scratch("kernel-")
	if err != nil {
		return err
	}
	defer remove()
	b := kernelBuild{recipe: r, src: filepath.Join(tmp, "src"), out: filepath.Join(tmp, "out"), dir: dir}
	for _, d := range []string{b.src, b.out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return fmt.Errorf("kernel: %w", err)
		}
	}
	f.say("kernel %s is built from %s, with the options in vm/config; that takes a while", r.spec.Name, r.lock.Source)
	if err := f.unpackKernelSource(ctx, r.spec, r.lock, b.src); err != nil {
		return err
	}
	if err := b.configure(ctx); err != nil {
		return err
	}
	b.progress = &buildProgress{say: f.say, kernel: r.spec.Name, began: time.Now()}
	if err := b.make(ctx, "-j"+strconv.Itoa(runtime.NumCPU()), "bzImage", "modules"); err != nil {
		return err
	}
	if err := b.install(ctx); err != nil {
		return err
	}
	f.say("kernel %s is built", r.spec.Name)
	return nil
}

// unpackKernelSource unpacks parts of a source package, or all of it.
func (f *Fetcher) unpackKernelSource(ctx context.Context, spec KernelSpec, lock KernelLock, dir string, parts ...string) error {
	tmp, remove, err := f.Cache.scratch("source-")
	if err != nil {
		return err
	}
	defer remove()
	if err := f.unpackDebs(ctx, spec, []string{lock.Source}, tmp); err != nil {
		return err
	}
	tars, err := filepath.Glob(filepath.Join(tmp, "usr", "src", "linux-source-*.tar.xz"))
	if err != nil {
		return err
	}
	if len(tars) != 1 {
		return fmt.Errorf("%d archives in the source package, expected one", len(tars))
	}
	args := []string{"tar", "-C", dir, "-xJf", tars[0], "--strip-components=1"}
	for _, p := range parts {
		args = append(args, spec.Source+"/"+p)
	}
	_, err = run(ctx, dir, args...)
	return err
}

// make runs make on the kernel's source.
func (b *kernelBuild) make(ctx context.Context, args ...string) error {
	args = append([]string{"make", "-C", b.src, "O=" + b.out}, args...)
	var watch io.Writer
	if b.progress != nil {
		watch = b.progress
	}
	_, err := runWatched(ctx, watch, b.src, args...)
	return err
}

// configure merges the fragments over the smallest configuration, and sees to
// it that the kernel took them all: what an option needs may be missing, and
// then it is left out without a word.
func (b *kernelBuild) configure(ctx context.Context) error {
	if err := b.make(ctx, "tinyconfig"); err != nil {
		return err
	}
	name := filepath.Join(b.out, ".config")
	tiny, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("kernel: %w", err)
	}
	own := fmt.Sprintf("CONFIG_LOCALVERSION=\"-%s-%s\"\n", b.spec.Name, b.hash)
	if err := os.WriteFile(name, []byte(string(tiny)+b.config+own), 0o644); err != nil {
		return fmt.Errorf("kernel: %w", err)
	}
	if err := b.make(ctx, "olddefconfig"); err != nil {
		return err
	}
	config, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("kernel: %w", err)
	}
	if left := refused(parseOptions(b.config+own), parseOptions(string(config))); len(left) > 0 {
		return &OptionsError{Kernel: b.spec.Name, Options: left}
	}
	return nil
}

// install puts into the cache entry what a distribution's packages would have:
// the image, the modules, and what modules are built against.
func (b *kernelBuild) install(ctx context.Context) error {
	release, err := os.ReadFile(filepath.Join(b.out, "include", "config", "kernel.release"))
	if err != nil {
		return fmt.Errorf("kernel: %w", err)
	}
	k := Kernel{Release: strings.TrimSpace(string(release)), Root: b.dir}
	if err := copyFile(filepath.Join(b.out, "arch", "x86", "boot", "bzImage"), k.Image()); err != nil {
		return err
	}
	// depmod is run on what goes into a guest.
	if err := b.make(ctx, "modules_install", "INSTALL_MOD_PATH="+b.dir, "INSTALL_MOD_STRIP=1", "DEPMOD=true"); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(k.Modules(), "build")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("kernel: %w", err)
	}
	// The kernel's own script knows what a package of headers must have.
	script := filepath.Join(b.src, "scripts", "package", "install-extmod-build")
	if err := b.make(ctx, "run-command", "KBUILD_RUN_COMMAND=sh "+script+" "+k.Headers()); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(b.out, ".config"), filepath.Join(k.Headers(), ".config")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, releaseFile), release, 0o644)
}

// buildProgress counts make's lines and tells of them now and then. How many
// there will be nobody knows beforehand.
type buildProgress struct {
	say    func(string, ...any)
	kernel string
	began  time.Time
	told   time.Duration
	files  int
}

// progressEvery is how often a build says how far it is.
const progressEvery = 30 * time.Second

func (p *buildProgress) Write(b []byte) (int, error) {
	lines := bufio.NewScanner(strings.NewReader(string(b)))
	for lines.Scan() {
		p.files++
	}
	if since := time.Since(p.began); since-p.told >= progressEvery {
		p.told = since
		p.say("building kernel %s: %v, %d steps", p.kernel, since.Round(time.Second), p.files)
	}
	return len(b), nil
}
