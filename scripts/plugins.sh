#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds each plugin in Plugins/ with its Makefile, and copies its library and its manifest to FOLDER/NAME/. A plugin that binds a library of the system
# has only a manifest.
#   scripts/plugins.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 1 ] || { echo "usage: scripts/plugins.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)

for source in Plugins/*/; do
    name=$(basename "$source")
    manifest=$source$name.plugin.json
    [ -e "$manifest" ] || { echo "$source has no manifest: name it $name.plugin.json, after its folder" >&2; exit 1; }
    if [ ! -e "${source}Makefile" ] && grep -q '^    "library": "system"' "$manifest"; then
        mkdir -p "$out/$name"
        cp "$manifest" "$out/$name/"
        echo "plugin $name: $out/$name, without code"
        continue
    fi
    [ -e "${source}Makefile" ] || { echo "$source has no Makefile: write one that builds its library into OUT, as Plugins/Template's does" >&2; exit 1; }
    library=$(sed -n 's/^ *"library": *"\([^"]*\)".*/\1/p' "$manifest")
    [ -n "$library" ] || { echo "$manifest names no \"library\"" >&2; exit 1; }
    # The build folder has a path without spaces, because make does not allow spaces in names.
    built=.build/plugins/$name
    make -s -C "$source" OUT="../../$built"
    [ -e "$built/$library" ] || { echo "${source}Makefile built no $library, the \"library\" of $manifest" >&2; exit 1; }
    mkdir -p "$out/$name"
    # Renames a copy, so that a process that has the old library open keeps its bytes.
    cp "$built/$library" "$out/$name/.$library.new"
    mv "$out/$name/.$library.new" "$out/$name/$library"
    cp "$manifest" "$out/$name/"
    echo "plugin $name: $out/$name/$library"
done
