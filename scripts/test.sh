#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command that runs tests:  scripts/test.sh swift test
# If tests fail, it prints their names again at the end, because they are hard to find in thousands of lines.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
closing() { grep -a 'Test run with' "$log" | tail -n 1; }
failures() { grep -a 'recorded an issue' "$log" | cut -c 1-600 | head -n 40; }
# For scripts/parts.sh, which prints these lines again after its table.
if [ -n "${PORTOLAN_CLOSING_LINES:-}" ]; then
    { [ "$status" -eq 0 ] || failures; closing; } >> "$PORTOLAN_CLOSING_LINES"
elif [ "$status" -ne 0 ]; then
    failures
    tail -n 1 "$log"
fi
exit "$status"
