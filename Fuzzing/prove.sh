#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that each fuzzer finds bugs: applies the target's planted bug to a copy of the tree, and fails unless the fuzzer finds the bug by
# searching.
#   Fuzzing/prove.sh [TARGET]      PROVE_TIME: the maximum time for each target, in seconds (60)
# The fuzzer begins with the seeds, none of which may show the bug. The copy and its build folder stay in PROVE_COPY
# (.build/fuzzing-proof), so that another proof compiles little.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
time=${PROVE_TIME:-60}
copy=${PROVE_COPY:-$root/.build/fuzzing-proof}
planted=$(cd Fuzzing/Planted && for patch in *.patch; do echo "${patch%.patch}"; done)
if [ $# -gt 0 ]; then
    [ -e "Fuzzing/Planted/$1.patch" ] || { echo "there is no Fuzzing/Planted/$1.patch: name one of" $planted >&2; exit 2; }
    planted=$1
fi

# Only files that differ are copied, so that the copy's build folder stays valid.
mirror() {
    mkdir -p "$copy"
    (cd "$copy" && find . -path ./.build -prune -o -type f -print) | while IFS= read -r file; do
        [ -e "$root/$file" ] || rm "$copy/$file"
    done
    (git ls-files -z; git ls-files -z --others --exclude-standard) | while IFS= read -r -d '' file; do
        [ -e "$file" ] || continue
        cmp -s "$file" "$copy/$file" || { mkdir -p "$copy/$(dirname "$file")" && cp -p "$file" "$copy/$file" && touch "$copy/$file"; }
    done
}

for target in $planted; do
    mirror
    patch -s -d "$copy" -p1 < "Fuzzing/Planted/$target.patch" \
        || { echo "Fuzzing/Planted/$target.patch no longer applies: plant the bug anew" >&2; exit 1; }
    rm -rf "$copy/.build/fuzzing/corpus/$target" "$copy/Fuzzing/FailCases/$target"
    if output=$(FUZZ_TARGET=$target FUZZ_TIME=$time "$copy/scripts/fuzz.sh" 2>&1); then
        echo "$target: the planted bug was NOT found in $time s" >&2
        exit 1
    fi
    case $output in
    *"found a failure after"*) ;;
    *) echo "$output" >&2; echo "$target: the fuzzer did not run" >&2; exit 1 ;;
    esac
    log=$copy/.build/fuzzing/$target.log
    grep -aq 'INITED' "$log" || { echo "$target: the seeds alone show the planted bug; plant one that takes a search" >&2; exit 1; }
    runs=$(grep -ao '^#[0-9]*' "$log" | tail -1)
    echo "$target: found the planted bug after more than ${runs#\#} inputs:" "$(echo "$output" | grep -a '^finding\|^==\|SUMMARY\|after' | head -2 | cut -c1-240 | tr '\n' ' ')"
done
mirror
