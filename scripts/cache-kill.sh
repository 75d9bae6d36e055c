#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a process that fills a cache on disk from eight loads, ROUNDS times (200), and verifies the cache after each round. Then two processes
# fill and read one folder, with LOADS loads each (100000). The tests do the same, with fewer rounds and loads.
#   scripts/cache-kill.sh [ROUNDS [LOADS]]
set -euo pipefail
cd "$(dirname "$0")/.."
# The same package as in build-tests, so that nothing is built again.
export PORTOLAN_BENCHMARKS=1 PORTOLAN_CACHE_KILLS=${1:-200} PORTOLAN_CACHE_LOADS=${2:-100000}
exec swift test --ignore-lock --disable-xctest --filter 'DiskCacheSharingTests/(killedProcessLeavesTheCacheIntact|processesFillAndReadOneFolder)'
