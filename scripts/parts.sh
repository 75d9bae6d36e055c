#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes targets one after another, and says at the end how long each took:  scripts/parts.sh make packages-test build-tests test-suite
# The closing lines of the test runs come last. It ends at the first target that fails.
set -uo pipefail
make=$1
shift
PORTOLAN_CLOSING_LINES=$(mktemp)
export PORTOLAN_CLOSING_LINES
trap 'rm -f "$PORTOLAN_CLOSING_LINES"' EXIT
table=""
status=0
for part in "$@"; do
    start=$(date +%s)
    "$make" --no-print-directory "$part" || status=$?
    table+=$(printf '%5d s  %s' $(($(date +%s) - start)) "$part")$'\n'
    [ "$status" -eq 0 ] || break
done
printf '\n%s%5d s  in all\n' "$table" "$SECONDS"
[ "$status" -eq 0 ] || { echo "$part failed" >&2; exit "$status"; }
cat "$PORTOLAN_CLOSING_LINES"
