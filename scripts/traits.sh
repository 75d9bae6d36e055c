#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the modules compile without the package traits Persistence and Redis, without building them again:
#   scripts/traits.sh MODULES    with the folder of the built modules (`swift build --show-bin-path`, /Modules)
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$1
# The same rules as in Package.swift, and neither -D Persistence nor -D Redis.
# The name that SwiftPM gives to the package of a folder.
package=$(basename "$PWD" | tr '[:upper:]-' '[:lower:]_')
flags=(-typecheck -swift-version 6 -package-name "$package" -I "$modules" -strict-memory-safety -warnings-as-errors)
for feature in ExistentialAny InternalImportsByDefault MemberImportVisibility NonisolatedNonsendingByDefault; do
    flags+=(-enable-upcoming-feature "$feature")
done
# Modules of C libraries, which those of Swift import.
for map in Sources/C*/module.modulemap Sources/C*/include/module.modulemap; do flags+=(-I "$(dirname "$map")"); done
for module in PortolanStore PortolanRedis PortolanBackground PortolanCLI; do
    find "Sources/$module" -name '*.swift' -print0 | xargs -0 swiftc "${flags[@]}" -parse-as-library -module-name "$module"
done
echo "PortolanStore, PortolanRedis, PortolanBackground and PortolanCLI compile without the traits Persistence and Redis"
