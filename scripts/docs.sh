#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation as one site in .build/docs. It fails if there is a warning, if the contract reference does not match the headers, or if a
# plugin in an article does not compile.
set -euo pipefail
cd "$(dirname "$0")/.."
/usr/bin/python3 scripts/contract-reference.py --check

article=Sources/Portolan/Portolan.docc/plugin-in-c.md
sed -n '/^```c$/,/^```$/p' "$article" | sed '/^```/d' |
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I Sources/CPortolan/include -x c - ||
    { echo "$article shows a plugin that does not compile" >&2; exit 1; }
article=Sources/Portolan/Portolan.docc/plugin-in-cpp.md
# The first of its blocks.
sed -n '/^```cpp$/,/^```$/p;/^```$/q' "$article" | sed '/^```/d' |
    c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I Sources/CPortolan/include -x c++ - ||
    { echo "$article shows a plugin that does not compile" >&2; exit 1; }
article=Sources/Portolan/Portolan.docc/other-languages.md
sed -n '/^```cpp$/,/^```$/p' "$article" | sed '/^```/d' |
    c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I Sources/CPortolan/include -x c++ - ||
    { echo "$article shows a plugin that does not compile" >&2; exit 1; }

# The modules that a program or a plugin imports, and the modules that Portolan re-exports.
targets=()
for target in Portolan PortolanHandlers PortolanURL PortolanCore PortolanCoding PortolanContent PortolanCache PortolanHTTP PortolanHTTPSyntax PortolanTransport PortolanPlugins PortolanStore PortolanBackground PortolanRunLoop PortolanStreams PortolanRedis PortolanMetrics PortolanTracing PortolanServiceLifecycle PortolanPluginKit PortolanTrace PortolanConformance PortolanTestSupport; do
    targets+=(--target "$target")
done
# The package depends on the DocC plugin only if this variable is set, so that other builds need not fetch it.
PORTOLAN_DOCUMENTATION=1 ${SWIFT:-swift} package --allow-writing-to-directory .build/docs generate-documentation "${targets[@]}" \
    --enable-experimental-combined-documentation --warnings-as-errors --output-path .build/docs
echo "documentation: .build/docs; to read it: python3 -m http.server --bind 127.0.0.1 --directory .build/docs, then /documentation/portolan"
