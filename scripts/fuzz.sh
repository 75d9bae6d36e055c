#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzzers, and runs each of them, or only FUZZ_TARGET, for FUZZ_TIME seconds (300). It fails at the first finding, and stores the input of the
# finding in Fuzzing/FailCases/TARGET/, where `make test` replays it.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZ_TIME:-300}
scratch=$PWD/.build/fuzzing
mkdir -p "$scratch"
case $time in
'' | *[!0-9]* | 0) echo "FUZZ_TIME is '$time': give whole seconds, 1 or more" >&2; exit 2 ;;
esac

targets=$(cd Fuzzing/Executables && echo *)
if [ -n "${FUZZ_TARGET:-}" ]; then
    [ -d "Fuzzing/Executables/$FUZZ_TARGET" ] || { echo "FUZZ_TARGET is '$FUZZ_TARGET': it is one of $targets" >&2; exit 2; }
    targets=$FUZZ_TARGET
fi

# All modules are instrumented, including those of Portolan. The linker is lld, because gold prints a warning for each symbol of AddressSanitizer.
options=(--package-path Fuzzing --scratch-path "$scratch" -c release)
# Exports the functions that count branches, so that the code of the plugin is counted, too.
flags=(--sanitize address -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld
    -Xlinker '--export-dynamic-symbol=__sanitizer_cov_*' -Xlinker '--export-dynamic-symbol=__sancov_*')
for target in $targets; do
    echo "building fuzz-$target"
    swift build "${options[@]}" "${flags[@]}" --product "fuzz-$target" >"$scratch.log" 2>&1 || { cat "$scratch.log" >&2; exit 1; }
done
bin=$(swift build "${options[@]}" --show-bin-path)
case " $targets " in
*" gzip "*)
    clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
    make -s -C Plugins/Gzip OUT="$scratch/plugins" CC="$clang" EXTRA="-fsanitize=fuzzer-no-link,address"
    export FUZZ_GZIP=$scratch/plugins/gzip.so
    ;;
esac

export ASAN_OPTIONS=detect_leaks=1
export LSAN_OPTIONS="suppressions=$PWD/scripts/lsan.supp:print_suppressions=0"
# libFuzzer reports crashes itself.
export SWIFT_BACKTRACE=enable=no
for target in $targets; do
    corpus=$scratch/corpus/$target
    mkdir -p "$corpus" "Fuzzing/FailCases/$target"
    log=$scratch/$target.log
    dictionary=()
    [ -e "Fuzzing/Dictionaries/$target.dict" ] && dictionary=("-dict=Fuzzing/Dictionaries/$target.dict")
    echo "fuzzing $target for $time s"
    start=$SECONDS
    # One kibibyte is enough for more cases than a run can try. Longer inputs mostly take longer.
    limits=(-timeout=20 -rss_limit_mb=4096 -max_len=1024 "-artifact_prefix=Fuzzing/FailCases/$target/")
    # A search for leaks takes as long as a thousand inputs. So there is one after each seed, and later only at the end of the process.
    # Slow inputs get a smaller share of the time.
    if ! { "$bin/fuzz-$target" "${limits[@]}" Fuzzing/Seeds/"$target"/* \
        && "$bin/fuzz-$target" -max_total_time="$time" -detect_leaks=0 -entropic_scale_per_exec_time=1 -print_final_stats=1 \
            "${limits[@]}" "${dictionary[@]}" "$corpus" "Fuzzing/Seeds/$target"; } >"$log" 2>&1; then
        grep -aE "^finding in|^==.*ERROR|SUMMARY|Fatal error" "$log" | head -5 >&2 || true
        echo "$target: found a failure after $((SECONDS - start)) s: $(grep -ao 'Test unit written to .*' "$log" | sed 's/.* //' | tail -1); the log is $log" >&2
        rmdir "Fuzzing/FailCases/$target" 2>/dev/null || true
        exit 1
    fi
    rmdir "Fuzzing/FailCases/$target" 2>/dev/null || true
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    echo "$target: nothing found in $runs executions, $speed a second; peak memory $(sed -n 's/^stat::peak_rss_mb: *//p' "$log") MiB"
done
