#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes targets one after another, and prints at the end how long each took:  scripts/parts.sh make packages-test build-tests test-mutants+test-suite
# Targets joined by + run at the same time, and their output is printed one after another. The last lines of each test run are repeated at the end, with the
# failed tests. The script ends at the first part that fails.
set -uo pipefail
make=$1
shift
# With make -n, only print the commands of the targets.
if [[ "${MAKEFLAGS-}" =~ ^[a-zA-Z]*n[a-zA-Z]*( |$) ]]; then exec "$make" --no-print-directory ${@//+/ }; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
jobs=()
# Background jobs do not get the signal of Ctrl-C or of a closed terminal.
trap 'for job in "${jobs[@]}"; do kill -- "-$job" 2> /dev/null; done; exit 130' INT TERM HUP
table=""
status=0

# Makes one target, and writes its time and its closing lines to files.
make_target() {
    local start=$SECONDS result=0
    PORTOLAN_CLOSING_LINES=$folder/$1.closing "$make" --no-print-directory "$1" || result=$?
    echo $((SECONDS - start)) > "$folder/$1.time"
    return "$result"
}

for part in "$@"; do
    IFS=+ read -ra targets <<< "$part"
    jobs=()
    # All targets but the last one write to files, which are printed when the last one has ended. The last one runs in the background, too, because a trap
    # would wait for a command in the foreground.
    for target in "${targets[@]::${#targets[@]}-1}"; do
        set -m
        make_target "$target" > "$folder/$target.log" 2>&1 &
        jobs+=($!)
        set +m
    done
    if [ "${#jobs[@]}" -eq 0 ]; then
        make_target "${targets[-1]}" || status=$?
    else
        set -m
        make_target "${targets[-1]}" &
        jobs+=($!)
        set +m
        wait "${jobs[-1]}" || status=$?
        unset 'jobs[-1]'
    fi
    for index in "${!jobs[@]}"; do
        wait "${jobs[$index]}" || status=$?
        cat "$folder/${targets[$index]}.log"
    done
    for target in "${targets[@]}"; do
        together=""
        [ "${#targets[@]}" -eq 1 ] || together=" (at the same time as $(printf '%s\n' "${targets[@]}" | grep -vx "$target" | paste -sd ' '))"
        table+=$(printf '%5d s  %s' "$(cat "$folder/$target.time")" "$target$together")$'\n'
        cat "$folder/$target.closing" >> "$folder/closing" 2> /dev/null || true
    done
    failed=$part
    [ "$status" -eq 0 ] || break
done
printf '\n%s%5d s  in all\n' "$table" "$SECONDS"
cat "$folder/closing" 2> /dev/null || true
[ "$status" -eq 0 ] || { echo "$failed failed" >&2; exit "$status"; }
