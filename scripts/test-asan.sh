#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test under AddressSanitizer with leak detection, the plugins that they load too: these are compiled by Swift's own clang, for
# the functions of another one's sanitizer would not be found.
set -euo pipefail
cd "$(dirname "$0")/.."
clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
make -s -C Tests/PluginFixtures OUT=../../.build/asan/fixtures CC="$clang" EXTRA=-fsanitize=address
export PORTOLAN_FIXTURES="$PWD/.build/asan/fixtures"
export LSAN_OPTIONS="suppressions=$PWD/scripts/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS="detect_leaks=1:suppressions=$PWD/scripts/asan.supp"
exec swift test --disable-xctest --sanitize address --scratch-path .build/asan
