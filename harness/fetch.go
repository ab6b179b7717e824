package harness

// This file owns bringing a locked kernel into the cache: image, modules and
// a headers folder that builds modules from where it lies.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Kernel is a kernel on disk.
type Kernel struct {
	Name    string // 6.12
	Release string // what uname -r says
	Version string // the package's
	Root    string // the packages, unpacked
	Memory  int    // MiB that a guest needs, if it is more than usual
}

// id tells kernels apart, and builds for them.
func (k Kernel) id() string { return k.Release + "_" + k.Version }

// Image is the kernel to boot.
func (k Kernel) Image() string { return filepath.Join(k.Root, "boot", "vmlinuz-"+k.Release) }

// Modules is the folder of the kernel's own modules.
func (k Kernel) Modules() string { return filepath.Join(k.Root, "lib", "modules", k.Release) }

// Headers is what make -C takes to build a module.
func (k Kernel) Headers() string {
	return filepath.Join(k.Root, "usr", "src", "linux-headers-"+k.Release)
}

// args are kernel arguments that this kernel wants. KASAN is silent after its first
// report, which may have been the kernel's own fault (known.go).
func (k Kernel) args() []string {
	config, err := os.ReadFile(filepath.Join(k.Headers(), ".config"))
	if err == nil && bytes.Contains(config, []byte("\nCONFIG_KASAN=y\n")) {
		return []string{"kasan_multi_shot"}
	}
	return nil
}

// Fetcher brings kernels into the cache.
type Fetcher struct {
	Cache    *Cache
	Kernels  *Kernels
	Progress Progress
}

// Fetch returns the kernel called name as the lock file has it. What is not in
// the cache is downloaded, or built; a version that has left the mirror is replaced by
// the newest of its series, with a line that says so.
func (f *Fetcher) Fetch(ctx context.Context, name string) (Kernel, error) {
	spec, err := f.Kernels.Spec(name)
	if err != nil {
		return Kernel{}, err
	}
	if spec.Built() {
		return f.fetchBuilt(ctx, spec)
	}
	lock, locked := f.Kernels.Locks[spec.Name]
	if locked {
		if ok, err := f.Cache.Use(kernelKey(lock)); ok || err != nil {
			return f.kernel(spec, lock), err
		}
	}
	lock, err = f.available(ctx, spec, func(l KernelLock) []string { return l.Packages })
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", spec.Name, err)
	}
	_, err = f.Cache.Ensure(ctx, kernelKey(lock), func(dir string) error {
		f.say("fetching kernel %s (%s)", spec.Name, lock.Version)
		return f.unpack(ctx, spec, lock, dir)
	})
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", spec.Name, err)
	}
	return f.kernel(spec, lock), nil
}

// Update resolves every series anew and returns the new locks.
func (f *Fetcher) Update(ctx context.Context) error {
	for _, spec := range f.Kernels.Specs {
		err := f.withLists(ctx, spec, func(a *apt) error {
			lock, err := resolve(ctx, a, spec)
			if err == nil {
				f.Kernels.Locks[spec.Name] = lock
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("kernel %s: %w", spec.Name, err)
		}
	}
	return f.Kernels.WriteLock()
}

// available returns the lock entry, or its replacement if one of the needed
// packages has left the mirror. A replacement stays the same until the lock
// file changes.
func (f *Fetcher) available(ctx context.Context, spec KernelSpec, needed func(KernelLock) []string) (lock KernelLock, err error) {
	lock, locked := f.Kernels.Locks[spec.Name]
	if !locked {
		return lock, errors.New("not in the lock file; run rxvm kernels --update")
	}
	key := insteadKey(spec.Name, lock)
	replaced, err := f.Cache.Has(key)
	if err != nil {
		return lock, err
	}
	if !replaced {
		missing := ""
		err := f.withLists(ctx, spec, func(a *apt) error {
			missing, err = firstMissing(ctx, a, needed(lock))
			return err
		})
		if err != nil || missing == "" {
			return lock, err
		}
	}
	dir, err := f.Cache.Ensure(ctx, key, func(dir string) error { return f.replace(ctx, spec, dir) })
	if err != nil {
		return lock, err
	}
	was := lock.Version
	if err := readJSON(filepath.Join(dir, replacement), &lock); err != nil {
		return lock, err
	}
	f.say("kernel %s: the mirror has no %q any more, taking %s", spec.Name, was, lock.Version)
	return lock, nil
}

// replacement is the file that holds a replaced lock entry.
const replacement = "lock.json"

// replace resolves a series anew, into dir.
func (f *Fetcher) replace(ctx context.Context, spec KernelSpec, dir string) error {
	return f.withApt(ctx, spec, func(a *apt) error {
		lock, err := resolve(ctx, a, spec)
		if err != nil {
			return err
		}
		data, err := json.Marshal(lock)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, replacement), data, 0o644)
	})
}

func firstMissing(ctx context.Context, a *apt, packages []string) (string, error) {
	for _, p := range packages {
		if _, ok, err := a.show(ctx, p); !ok || err != nil {
			return p, err
		}
	}
	return "", nil
}

// withLists calls use with an apt root whose package lists are fresh.
func (f *Fetcher) withLists(ctx context.Context, spec KernelSpec, use func(*apt) error) error {
	return f.withApt(ctx, spec, func(a *apt) error {
		f.say("reading the package lists of %s", strings.Join(spec.Suites, ", "))
		if err := a.update(ctx); err != nil {
			return err
		}
		return use(a)
	})
}

// withApt calls use with the apt root of spec, which one process has at a time.
func (f *Fetcher) withApt(ctx context.Context, spec KernelSpec, use func(*apt) error) error {
	key := aptKey(spec)
	lock, err := f.lock(ctx, key)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	a, err := openApt(f.Cache.Path(key), lock, spec.Suites)
	if err != nil {
		return err
	}
	return use(a)
}

func (f *Fetcher) unpack(ctx context.Context, spec KernelSpec, lock KernelLock, dir string) error {
	if err := f.unpackDebs(ctx, spec, lock.Packages, dir); err != nil {
		return err
	}
	return relocateHeaders(filepath.Join(dir, "usr", "src", "linux-headers-"+lock.Release, "Makefile"))
}

// unpackDebs downloads packages and unpacks them into dir.
func (f *Fetcher) unpackDebs(ctx context.Context, spec KernelSpec, packages []string, dir string) error {
	debs, remove, err := f.Cache.scratch("debs-")
	if err != nil {
		return err
	}
	defer remove()
	err = f.withApt(ctx, spec, func(a *apt) error { return a.download(ctx, debs, packages) })
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	if len(files) != len(packages) {
		return fmt.Errorf("%d packages asked, %d came", len(packages), len(files))
	}
	for _, deb := range files {
		if _, err := run(ctx, dir, "dpkg-deb", "-x", deb, dir); err != nil {
			return err
		}
	}
	return nil
}

// relocateHeaders makes the headers' one absolute include relative to the
// Makefile that has it.
func relocateHeaders(makefile string) error {
	text, err := os.ReadFile(makefile)
	if err != nil {
		return err
	}
	re := regexp.MustCompile(`(?m)^include /usr/src/`)
	if n := len(re.FindAll(text, -1)); n != 1 {
		return fmt.Errorf("%s: %d absolute includes, expected one", makefile, n)
	}
	text = re.ReplaceAllLiteral(text, []byte("include $(dir $(realpath $(lastword $(MAKEFILE_LIST))))../"))
	return os.WriteFile(makefile, text, 0o644)
}

func (f *Fetcher) kernel(spec KernelSpec, lock KernelLock) Kernel {
	return Kernel{Name: spec.Name, Release: lock.Release, Version: lock.Version, Root: f.Cache.Path(kernelKey(lock))}
}

// insteadKey is the entry that holds what replaces a lock entry.
func insteadKey(name string, lock KernelLock) string {
	return filepath.Join("instead", name+"-"+lock.Version)
}

func aptKey(spec KernelSpec) string { return "apt-" + strings.Join(spec.Suites, "-") }

// kernelKey has the release, too: a version of Debian's has several flavours.
func kernelKey(lock KernelLock) string {
	return filepath.Join("kernels", lock.Release+"_"+lock.Version)
}

// lock takes the lock named key, and says so when that takes a while: somebody
// else is at it, or what is left of a build that was killed.
func (f *Fetcher) lock(ctx context.Context, key string) (*Lock, error) {
	l, err := f.Cache.tryLock(key)
	if l != nil || err != nil {
		return l, err
	}
	f.say("waiting for another process that works in %s", f.Cache.Path(key))
	return f.Cache.Lock(ctx, key)
}

func (f *Fetcher) say(format string, args ...any) {
	if f.Progress != nil {
		fmt.Fprintf(f.Progress, "rxvm: "+format+"\n", args...)
	}
}
