// Package harness boots the project's kernel modules in a QEMU virtual
// machine, runs one command there and says what became of it.
//
// It owns everything between a developer's command line and the guest's
// first process:
//
//   - kernels: Debian's packages, fetched through a private apt root into a
//     cache and pinned by a lock file (apt*.go, kernels.go, fetch.go);
//   - modules: the dependency closure of vm/modules.txt and the builds of
//     kmod/ (modules.go, kmod.go);
//   - the initramfs, made in Go (archive.go, base.go, payload.go, elf.go);
//   - QEMU, its three serial ports and their deadlines (qemu.go, vm.go);
//   - the console, scanned for kernel splats (console.go, splat.go).
//
// The guest's half is in harness/guest, and what the two say to each other is
// in harness/wire.
package harness
