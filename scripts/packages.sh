#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing need, where a command of theirs is missing.
set -euo pipefail

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need cc gcc
need ld binutils
need git git
need sha256sum coreutils
[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
command -v swift >/dev/null 2>&1 || { echo "swift is missing: install Swift 6.2 or later (swift.org/install), then run this again" >&2; exit 1; }

if [ ${#missing[@]} -gt 0 ]; then
    echo "installing ${missing[*]}"
    root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
