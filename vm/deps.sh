#!/bin/sh
# Installs the packages of packages.txt that this host lacks, or, without the
# right to, says the command that would. Called by make.
set -eu

list=$(dirname "$0")/packages.txt
missing=
for p in $(sed 's/#.*//' "$list"); do
	dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null |
		grep -qx installed || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "Packages are missing. Install them with:" >&2
	echo "  sudo apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
echo "Installing:$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update &&
	# shellcheck disable=SC2086 # one word a package
	apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
