#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs Examples/Embedding and the packages of the tutorials as a user would: the dependency is a tagged git repository, found by its URL.
# Uncommitted changes are not in it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# A checkout that belongs to somebody else is no reason for git to refuse here: nothing of it is run.
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
# The first build of a new checkout leaves what it builds to the tests. Later ones have a place of their own: they would
# replace the tests' modules of Portolan by those of the commit.
scratch=$work/build
[ -e "$root/.build/workspace-state.json" ] || scratch=$root/.build
mkdir -p "$work/package"
cp -r Examples/Embedding/. "$work/package/"
cd "$work/package"
sed -i "s|\.package(name: \"portolan\", path: \"../..\")|.package(url: \"file://$work/portolan.git\", from: \"$version\")|" Package.swift
grep -q 'portolan.git' Package.swift || { echo "Examples/Embedding/Package.swift does not depend on \"../..\" as this script expects" >&2; exit 1; }
# The tag moves with each commit here, unlike a published one: a recorded fingerprint of it is worth a warning only.
output=$(swift run --quiet --scratch-path "$scratch" --disable-dependency-cache --resolver-fingerprint-checking warn Embedding 2>"$work/errors") ||
    { cat "$work/errors" >&2; exit 1; }
echo "Examples/Embedding, built against version $version by URL, printed:"
echo "$output"
[ "$output" = "$(cat expected-output.txt)" ] || { echo "Examples/Embedding printed something else than expected-output.txt" >&2; exit 1; }
PORTOLAN_URL="file://$work/portolan.git" PORTOLAN_VERSION=$version SCRATCH=$scratch "$root/scripts/tutorials.py" swift "$work/tutorials"
