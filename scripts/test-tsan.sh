#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The suites that load no plugin library, under ThreadSanitizer: a library that was not built with it would be invisible to it.
set -euo pipefail
cd "$(dirname "$0")/.."
export TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp:print_suppressions=0"
exec swift test --disable-xctest --sanitize thread --scratch-path .build/tsan \
    --filter 'PortolanCoreTests|PortolanCookiesTests|PortolanHSTSTests|PortolanStoreTests|PortolanURLTests|PortolanDataTests|PortolanFileTests'
