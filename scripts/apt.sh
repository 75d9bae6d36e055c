#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian's package tool.
#   scripts/apt.sh install PACKAGE…         installs the packages, as root or with sudo
#   scripts/apt.sh unpack FOLDER PACKAGE…   copies their files to FOLDER; runs none of their scripts, and installs no dependencies
set -euo pipefail

verb=$1
shift
root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "these packages are missing: $*; as root: apt-get install $*" >&2
        exit 1
    fi
    root=(sudo)
fi
update() { "${root[@]}" apt-get update -qq; }

case $verb in
install)
    echo "installing $*"
    update
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    ;;
unpack)
    folder=$1
    shift
    echo "unpacking $*"
    update
    parts=$(mktemp -d)
    trap 'rm -rf "$parts"' EXIT
    # apt downloads as another user, who must be able to read the folder.
    chmod 755 "$parts"
    (cd "$parts" && apt-get download -qq -o APT::Sandbox::User=root "$@")
    mkdir -p "$folder"
    for package in "$parts"/*.deb; do dpkg-deb -x "$package" "$folder"; done
    ;;
esac
