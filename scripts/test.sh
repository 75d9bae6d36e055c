#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command that runs tests:  scripts/test.sh swift test
# Where some fail, it says at the end once more which did: they are hard to find among thousands of lines.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
# For scripts/parts.sh, which repeats the runner's closing line behind its table.
[ -z "${PORTOLAN_CLOSING_LINES:-}" ] || grep -a 'Test run with' "$log" | tail -n 1 >> "$PORTOLAN_CLOSING_LINES"
if [ "$status" -ne 0 ]; then
    grep -a 'recorded an issue' "$log" | cut -c 1-600 | head -n 40
    tail -n 1 "$log"
fi
exit "$status"
