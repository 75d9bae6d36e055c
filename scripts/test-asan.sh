#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test under AddressSanitizer with leak detection.
set -euo pipefail
cd "$(dirname "$0")/.."
export LSAN_OPTIONS="suppressions=$PWD/scripts/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS="detect_leaks=1"
exec swift test --disable-xctest --sanitize address --scratch-path .build/asan
