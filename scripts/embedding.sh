#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs Examples/Embedding and the packages of the tutorials as a user would: they depend on Portolan by the URL and the tag of a git
# repository. The repository does not contain uncommitted changes.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# Allows a checkout that belongs to another user. That is safe, because git runs nothing from it here.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
work=$root/.build/embedding
version=$(sed -n 's/.*portolanVersion = "\([^"]*\)".*/\1/p' Sources/PortolanCore/Version.swift)
head=$(git rev-parse HEAD)

if [ "$(cat "$work/commit" 2>/dev/null)" != "$head" ]; then
    rm -rf "$work"
    mkdir -p "$work"
    git clone -q --bare "$root" "$work/portolan.git"
    git -C "$work/portolan.git" tag -f "$version" "$head" >/dev/null
    echo "$head" > "$work/commit"
fi
# The first build of a new checkout uses the build folder of the tests, which saves them a build. Later builds use a separate folder, because they would
# replace the modules of the tests by those of the commit.
scratch=$work/build
[ -e "$root/.build/workspace-state.json" ] || scratch=$root/.build
mkdir -p "$work/package"
cp -r Examples/Embedding/. "$work/package/"
cd "$work/package"
sed -i "s|\.package(name: \"portolan\", path: \"../..\")|.package(url: \"file://$work/portolan.git\", from: \"$version\")|" Package.swift
grep -q 'portolan.git' Package.swift || { echo "Examples/Embedding/Package.swift does not depend on \"../..\" as this script expects" >&2; exit 1; }
# Unlike a published tag, this one moves with each commit, so a different fingerprint is only a warning.
output=$(swift run --quiet --scratch-path "$scratch" --disable-dependency-cache --resolver-fingerprint-checking warn Embedding 2>"$work/errors") ||
    { cat "$work/errors" >&2; exit 1; }
echo "Examples/Embedding, built against version $version by URL, printed:"
echo "$output"
[ "$output" = "$(cat expected-output.txt)" ] || { echo "Examples/Embedding did not print the text of expected-output.txt" >&2; exit 1; }
PORTOLAN_URL="file://$work/portolan.git" PORTOLAN_VERSION=$version SCRATCH=$scratch "$root/scripts/tutorials.py" swift "$work/tutorials"
