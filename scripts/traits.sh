#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the modules compile without the package traits, without building them again:
#   scripts/traits.sh MODULES    with the folder of the built modules (`swift build --show-bin-path`, /Modules)
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$1
# The same rules as in Package.swift, and no -D for a trait.
# The name that SwiftPM gives to the package of a folder.
package=$(basename "$PWD" | tr '[:upper:]-' '[:lower:]_')
flags=(-typecheck -swift-version 6 -package-name "$package" -I "$modules" -strict-memory-safety -warnings-as-errors)
for feature in ExistentialAny InternalImportsByDefault MemberImportVisibility NonisolatedNonsendingByDefault; do
    flags+=(-enable-upcoming-feature "$feature")
done
# Modules of C libraries, which those of Swift import.
for map in Sources/C*/module.modulemap Sources/C*/include/module.modulemap; do flags+=(-I "$(dirname "$map")"); done
modules_with_traits=(PortolanStore PortolanRedis PortolanBackground PortolanMetrics PortolanTracing PortolanServiceLifecycle PortolanCLI)
for module in "${modules_with_traits[@]}"; do
    find "Sources/$module" -name '*.swift' -print0 | xargs -0 swiftc "${flags[@]}" -parse-as-library -module-name "$module"
done
echo "These modules compile without the package traits: ${modules_with_traits[*]}"
