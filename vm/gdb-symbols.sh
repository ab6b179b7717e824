#!/bin/sh
# Prints, in the guest, what gdb on the host must be told to know the modules that
# are loaded: files with debug information, and where their sections are.
# `rxvm shell --gdb` brings it along.
set -eu

found=
for module in rxpost_recv rxpost_send; do
	sections=/sys/module/$module/sections
	[ -d $sections ] || continue
	found=1
	printf 'add-symbol-file %s/%s.ko %s' "$RXVM_MODULES" $module "$(cat $sections/.text)"
	for section in .rodata .data .bss; do
		[ ! -e $sections/$section ] || printf ' -s %s %s' $section "$(cat $sections/$section)"
	done
	echo
done
if [ -z "$found" ]; then
	echo "gdb-symbols: no module is loaded; modprobe rxpost_recv first" >&2
	exit 1
fi
