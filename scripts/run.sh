#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Loads real input with each kind of handler, and prints the results.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(swift build -c release --show-bin-path)
portolan=$bin/portolan
# compare LOADED EXPECTED: two digests
compare() {
    echo "    loaded    $1"
    echo "    sha256sum $2"
    [ "$1" = "$2" ] || { echo "the digests differ" >&2; exit 1; }
}

# Only the plugins of this build must be found.
unset PORTOLAN_PLUGIN_PATH PORTOLAN_PLUGIN_ALLOW PORTOLAN_PLUGIN_DENY
export XDG_DATA_HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent

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
compare "$loaded" "$expected"

echo
echo "== the plugins beside the executable"
echo "portolan plugins list"
"$portolan" plugins list | sed "s|$bin/|…/|; s/^/    /"

echo
echo "== template: a plugin in C; the first URL with its scheme opens it"
url='template://greet/World?times=2'
echo "portolan explain '$url'"
"$portolan" explain "$url" | sed 's/^/    /'
echo "portolan get '$url'"
"$portolan" get "$url" | sed 's/^/    /'

echo
echo "== echo: a test plugin in Swift; the URL says how it responds"
url='echo:redirect?to=data:,there'
echo "portolan get '$url'"
text=$("$portolan" get "$url")
echo "    $text"
[ "$text" = there ] || { echo "that is not 'there'" >&2; exit 1; }

echo
echo "== gzip: a plugin that decompresses the URL after gzip:, 173 MiB of text"
base64 "$folder/large file.bin" | gzip -1 > "$folder/text.gz"
url="gzip:file://$folder/text.gz"
echo "portolan get 'gzip:file:///…/text.gz' | sha256sum"
loaded=$("$portolan" get "$url" | sha256sum | cut -d' ' -f1)
expected=$(base64 "$folder/large file.bin" | sha256sum | cut -d' ' -f1)
compare "$loaded" "$expected"

echo
echo "== https: and http: from an nginx that this script starts"
# nginx ends when the descriptor is closed, and so at the latest when this script ends.
mkfifo "$folder/open" "$folder/line"
Tests/Servers/serve --only nginx --limit 300 < "$folder/open" > "$folder/line" &
exec 9> "$folder/open"
IFS= read -rt 60 servers < "$folder/line" || { echo "the server did not start" >&2; exit 1; }
# server_value KEY…: the value with this path in the JSON line that the servers print
server_value() {
    /usr/bin/python3 -c '
import json, sys
value = json.loads(sys.argv[1])
for key in sys.argv[2:]:
    value = value[key]
print(value)' "$servers" "$@"
}
authority="$(server_value files ca)"
url="https://localhost:$(server_value endpoints nginx.https port)/page.html"
echo "portolan get -v --cacert CA -o page.html '$url'"
"$portolan" get -v --cacert "$authority" -o "$folder/page.html" "$url" 2>&1 | grep -E '^(<|\* )' | sed "s|$folder|…|; s/^/    /"
grep -qi '<!doctype html' "$folder/page.html" || { echo "that is no page" >&2; exit 1; }
url="http://127.0.0.1:$(server_value endpoints nginx.http port)/page.html"
echo "portolan get -v -o again.html '$url'"
"$portolan" get -v -o "$folder/again.html" "$url" 2>&1 | grep -E '^(<|\* )' | sed "s|$folder|…|; s/^/    /"
compare "$(sha256sum < "$folder/again.html" | cut -d' ' -f1)" "$(sha256sum < "$folder/page.html" | cut -d' ' -f1)"
exec 9>&-

echo
echo "All seven loaded. The release build is $portolan"
echo "Next: '$portolan get URL' loads another URL, and 'make install' installs the command for every user."
echo "The tutorials in Sources/Portolan/Portolan.docc show how to embed the library (tutorial-embed.md) and to add a protocol (tutorial-protocol.md)."
