#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test under AddressSanitizer with leak detection, the plugins that they load too: these are compiled by Swift's own clang, for
# the functions of another one's sanitizer would not be found.
#
# Two runs, because LeakSanitizer looks up each thread by its number among all threads that it has seen, and keeps those that were started joinable
# after they have ended and were joined. Where Linux gives such a number to a new thread, the new thread's stack is not looked at, and what it
# alone holds seems lost. Numbers repeat after `kernel.pid_max` of them (32,768 on small machines). The end-to-end tests use 31,000, for they start
# programs; all others together 13,000.
set -euo pipefail
cd "$(dirname "$0")/.."
clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
make -s -C Tests/PluginFixtures OUT=../../.build/asan/fixtures CC="$clang" EXTRA=-fsanitize=address
export PORTOLAN_FIXTURES="$PWD/.build/asan/fixtures"
export LSAN_OPTIONS="suppressions=$PWD/scripts/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS="detect_leaks=1:suppressions=$PWD/scripts/asan.supp"
test=(swift test --disable-xctest --sanitize address --scratch-path .build/asan)
"${test[@]}" --filter '^EndToEndTests\.'
exec "${test[@]}" --skip-build --skip '^EndToEndTests\.'
