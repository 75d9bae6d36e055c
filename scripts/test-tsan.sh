#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs seven test targets, which load no plugin library, under ThreadSanitizer. It does not see the code of a library that was built without it.
set -euo pipefail
cd "$(dirname "$0")/.."
export TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp:print_suppressions=0"
exec swift test --disable-xctest --sanitize thread --scratch-path .build/tsan \
    --filter 'PortolanCoreTests|PortolanCookiesTests|PortolanHSTSTests|PortolanStoreTests|PortolanURLTests|PortolanDataTests|PortolanFileTests'
