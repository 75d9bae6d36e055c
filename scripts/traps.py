#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports what a test may trap at: force unwraps, try! and as! in Tests and Benchmarks/Tests. One trap ends the process, and with it every other test.

`swift format lint` has rules for them, but they pass over functions with @Test. Write `try #require(…)` instead.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXTS = re.compile(r'"""(?:\\.|.)*?"""|(#*)"(?:\\.|[^"\\\n])*?"\1|//[^\n]*|/\*.*?\*/', re.S)
TRAP = re.compile(r"\b(?:try|as)!|[\w)\]}\"?]!(?![=\w(])(?!\s*\()")


def found(source):
    """The lines with one, outside of texts and comments, whose line ends stay."""
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
                for number in found(file.read()):
                    print(f"{os.path.relpath(path, ROOT)}:{number}: may trap; write 'try #require(…)'")
                    count += 1
sys.exit(1 if count else 0)
