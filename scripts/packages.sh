#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing need, where a command of theirs is missing.
#   scripts/packages.sh [test|bench]    test, bench: what the tests or the benchmarks' peers need, too
set -euo pipefail

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need make make
need cc gcc
need ld binutils
need git git
need sha256sum coreutils
need gzip gzip
need pkg-config pkg-config
[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
pkg-config --exists zlib 2>/dev/null || missing+=(zlib1g-dev)
case ${1:-} in
# The tests judge manifests by their JSON Schema with it, too.
test) /usr/bin/python3 -c 'import jsonschema' 2>/dev/null || missing+=(python3-jsonschema) ;;
bench) pkg-config --exists libcurl 2>/dev/null || missing+=(libcurl4-openssl-dev) ;;
esac
if ! command -v swift >/dev/null 2>&1; then
    echo "swift is missing: install Swift 6.2 or later (swift.org/install), then run this again" >&2
    exit 1
fi
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing ${missing[*]}"
root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "these packages are missing: ${missing[*]}; install them as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    root=(sudo)
fi
"${root[@]}" apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
