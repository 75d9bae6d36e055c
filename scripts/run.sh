#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Loads real input through each kind of handler, and says what each did.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(swift build -c release --show-bin-path)
portolan=$bin/portolan
template=$bin/plugins/Template/template.so

echo
echo "== data: a URL that carries its own bytes"
url='data:text/plain;charset=utf-8;base64,UG9ydG9sYW4='
echo "portolan get '$url'"
text=$("$portolan" get "$url")
echo "    $text"
[ "$text" = Portolan ] || { echo "that is not 'Portolan'" >&2; exit 1; }

echo
echo "== file: 128 MiB, streamed"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head -c $((128 << 20)) /dev/urandom > "$folder/large file.bin"
url="file://$folder/large%20file.bin"
echo "portolan get 'file:///…/large%20file.bin' | sha256sum"
loaded=$("$portolan" get "$url" | sha256sum | cut -d' ' -f1)
expected=$(sha256sum < "$folder/large file.bin" | cut -d' ' -f1)
echo "    loaded    $loaded"
echo "    sha256sum $expected"
[ "$loaded" = "$expected" ] || { echo "the digests differ" >&2; exit 1; }

echo
echo "== template: a plugin library, in C"
url='template://greet/World?times=2'
echo "portolan explain --plugin …/template.so '$url'"
"$portolan" explain --plugin "$template" "$url" | sed 's/^/    /'
echo "portolan get --plugin …/template.so '$url'"
"$portolan" get --plugin "$template" "$url" | sed 's/^/    /'
echo
echo "All three loaded. The release build is $portolan"
