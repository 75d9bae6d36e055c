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
    library=$(sed -n 's/^ *"library": *"\([^"]*\)".*/\1/p' "$manifest")
    mkdir -p "$out/$name"
    cc -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -I Sources/CPortolan/include "$source"*.c -o "$out/$name/$library"
    cp "$manifest" "$out/$name/"
    echo "plugin $name: $out/$name/$library"
done
