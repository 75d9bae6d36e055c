#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command that runs tests:  scripts/test.sh swift test
# If tests fail, it prints their names again at the end, because they are hard to find in thousands of lines. If the process of the tests ends early, it
# prints the stack of the crash.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
closing() { grep -a 'Test run with' "$log" | tail -n 1; }
# The lines that follow an issue give its values and its comment.
failures() { awk '/recorded an issue/ { lines = 8 } /^(◇|✔|✘|➜|↷|⚠)/ && !/recorded an issue/ { lines = 0 } lines > 0 { print; lines-- }' "$log" | cut -c 1-600 | head -n 80; }
# The message of the trap, and the stack of the thread that crashed. `swift test` itself says nothing about a crash.
crash() {
    ! grep -aq 'Test run with' "$log" || return 0
    echo "The process of the tests ended before the last test:"
    grep -aE 'Fatal error|^\*\*\* ' "$log" | cut -c 1-600 | head -n 10
    awk '/^Thread .* crashed:$/ { found = 1 } found && /^(Registers:|Thread .*:)$/ && !/crashed:$/ { exit } found' "$log" | cut -c 1-300 | head -n 40
}
# For scripts/parts.sh, which prints these lines again after its table.
if [ -n "${PORTOLAN_CLOSING_LINES:-}" ]; then
    { [ "$status" -eq 0 ] || { failures; crash; }; closing; } >> "$PORTOLAN_CLOSING_LINES"
elif [ "$status" -ne 0 ]; then
    failures
    crash
    tail -n 1 "$log"
fi
exit "$status"
