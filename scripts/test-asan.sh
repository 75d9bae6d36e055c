#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test under AddressSanitizer with leak detection, with the plugins that they load. Swift's clang compiles the plugins, because the sanitizer of
# another clang has other functions.
#
# There are two runs, because LeakSanitizer identifies a thread by its number, and keeps joinable threads in its list after they have been joined. If Linux
# gives the number of such a thread to a new one, LeakSanitizer does not search the stack of the new thread, and reports false leaks. Numbers repeat after
# `kernel.pid_max` threads (32,768 on small machines). The end-to-end tests use 31,000 numbers, because they start programs; the others use about
# 20,000. Other programs on the machine use numbers, too, so run nothing else at the same time.
set -euo pipefail
cd "$(dirname "$0")/.."
clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
make -s -C Tests/PluginFixtures OUT=../../.build/asan/fixtures CC="$clang" CXX="$clang++" EXTRA=-fsanitize=address
export PORTOLAN_FIXTURES="$PWD/.build/asan/fixtures"
export LSAN_OPTIONS="suppressions=$PWD/scripts/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS="detect_leaks=1:suppressions=$PWD/scripts/asan.supp"
# With the tests of PortolanRedis.
export PORTOLAN_BENCHMARKS=1
options=(--sanitize address --scratch-path .build/asan)
swift build --build-tests "${options[@]}"
test=(swift test --disable-xctest --skip-build "${options[@]}")
status=0
"${test[@]}" --filter '^EndToEndTests\.' || status=$?
# The benchmarks run from a folder of their own, and compare times.
"${test[@]}" --skip '^EndToEndTests\.' --skip '^BenchTests\.' || status=$?
exit "$status"
