#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs C code under Valgrind: the plugins of the tests, and the fixture library through libffi. A program in Swift is not used, because Valgrind cannot
# read the debug information of Swift 6; `portolan check --sanitizer` removes it. scripts/test-asan.sh tests C and Swift together.
set -euo pipefail
cd "$(dirname "$0")/.."
out=.build/memcheck
make -s -C Tests/PluginFixtures OUT=../../.build/fixtures
mkdir -p "$out"
flags=(-std=gnu11 -g -Wall -Wextra -Wpedantic -Werror -pthread)
cc "${flags[@]}" -I Sources/CPortolan/include Tests/Memcheck/loads.c -o "$out/loads" -ldl
# shellcheck disable=SC2046 # the output of pkg-config is a list of arguments
cc "${flags[@]}" $(pkg-config --cflags libffi) Tests/Memcheck/calls.c -o "$out/calls" $(pkg-config --libs libffi) -ldl

check() {
    valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible "$@"
}
load() { check "$out/loads" ".build/fixtures/$1.so" "${@:2}"; }

check "$out/calls" .build/fixtures/binding.so
load http http 127.0.0.1
load template template echo
load template template secret
load fixture-events ticker 5 'size=1400'
load fixture-events ticker 2 'ask=1'
load fixture-events ticker echo
load fixture-events ticker redirect 'to=data:,x'
for style in carrier carrier-events; do
    for what in show redirect password certificate trust parts twice moments; do load carrier "$style" "$what"; done
done
