#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports expressions that can trap: force unwraps, try! and as! in Tests and Benchmarks/Tests. A trap ends the process with all its tests.

`swift format lint` has rules for them, but it does not apply them to functions with @Test. Write `try #require(…)` instead.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXTS = re.compile(r'"""(?:\\.|.)*?"""|(#*)"(?:\\.|[^"\\\n])*?"\1|//[^\n]*|/\*.*?\*/', re.S)
TRAP = re.compile(r"\b(?:try|as)!|[\w)\]}\"?]!(?![=\w(])(?!\s*\()")


def lines_with_traps(source):
    """Returns the numbers of lines with such an expression outside of string literals and comments."""
    code = TEXTS.sub(lambda match: '""' + "\n" * match.group(0).count("\n"), source)
    return [number for number, line in enumerate(code.split("\n"), 1) if TRAP.search(line)]


count = 0
for top in ("Tests", "Benchmarks/Tests"):
    for folder, _, files in os.walk(os.path.join(ROOT, top)):
        for name in sorted(files):
            if not name.endswith(".swift"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                for number in lines_with_traps(file.read()):
                    print(f"{os.path.relpath(path, ROOT)}:{number}: can trap; write 'try #require(…)'")
                    count += 1
sys.exit(1 if count else 0)
