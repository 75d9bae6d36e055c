#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a plugin in each language with `portolan new plugin`, builds it, and checks it at level 5 and with Valgrind. Prints a line for each of these, and
# ends at the first finding:  scripts/check-scaffolds.sh .build/debug/portolan
set -euo pipefail
portolan=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for language in c c++ rust swift binding; do
    name=new-${language//+/p}
    "$portolan" new plugin "$name" --language "$language" > /dev/null
    # A make that runs this script passes its options on.
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$name" test > build.log 2>&1 || { cat build.log >&2; exit 1; }
    for options in "--level 5" --sanitizer; do
        # A binding has no code of its own, which Valgrind could examine.
        [ "$language $options" != "binding --sanitizer" ] || continue
        # shellcheck disable=SC2086
        "$portolan" check "$name" $options --timeout 60 --json > report.json || true
        python3 - "$language" "$options" << 'END' || { "$portolan" check "$name" $options --timeout 60; exit 1; }
import collections, json, sys

results = json.load(open("report.json"))["results"]
counts = collections.Counter(result["verdict"] for result in results)
print(*sys.argv[1:], "·", ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()), flush=True)
sys.exit(set(counts) - {"passed", "skipped"} or not counts["passed"])
END
    done
done
