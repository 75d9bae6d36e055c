#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds each plugin in Plugins/ and puts it with its manifest into FOLDER/NAME/.
#   scripts/plugins.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1

for source in Plugins/*/; do
    name=$(basename "$source")
    manifest=$source$name.plugin.json
    [ -e "$manifest" ] || { echo "$source has no manifest: name it $name.plugin.json, after its folder" >&2; exit 1; }
    library=$(sed -n 's/^ *"library": *"\([^"]*\)".*/\1/p' "$manifest")
    [ -n "$library" ] || { echo "$manifest names no \"library\"" >&2; exit 1; }
    mkdir -p "$out/$name"
    cc -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -I Sources/CPortolan/include "$source"*.c -o "$out/$name/$library"
    cp "$manifest" "$out/$name/"
    echo "plugin $name: $out/$name/$library"
done
