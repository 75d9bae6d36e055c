#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation into .build/docs, as one site. A warning fails it, and so do a contract reference that the headers have left behind and a
# plugin in an article that does not compile.
set -euo pipefail
cd "$(dirname "$0")/.."
/usr/bin/python3 scripts/contract-reference.py --check

article=Sources/Portolan/Portolan.docc/plugin-in-c.md
sed -n '/^```c$/,/^```$/p' "$article" | sed '/^```/d' |
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I Sources/CPortolan/include -x c - ||
    { echo "$article shows a plugin that does not compile" >&2; exit 1; }

# Whom a program or a plugin imports, and what Portolan passes on.
targets=()
for target in Portolan PortolanHandlers PortolanURL PortolanCore PortolanCoding PortolanHTTP PortolanHTTPSyntax PortolanTransport PortolanPlugins PortolanStore PortolanPluginKit PortolanTrace PortolanConformance PortolanTestSupport; do
    targets+=(--target "$target")
done
# With the variable the package depends on the DocC plugin; without it nobody has to fetch that.
PORTOLAN_DOCUMENTATION=1 ${SWIFT:-swift} package --allow-writing-to-directory .build/docs generate-documentation "${targets[@]}" \
    --enable-experimental-combined-documentation --warnings-as-errors --output-path .build/docs
echo "documentation: .build/docs; to read it: python3 -m http.server --bind 127.0.0.1 --directory .build/docs, then /documentation/portolan"
