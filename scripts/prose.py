#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports comments that are longer than 120 columns, and words in comments and pages that mark a sentence to rewrite.

It reads comments of Swift on separate lines, and Markdown outside of code blocks. scripts/prose-allowed.txt lists exceptions: the path, a
tab, and a part of the line. It also reports an exception that no line needs.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALLOWED = os.path.join(ROOT, "scripts", "prose-allowed.txt")
LONGEST = 120
# Pages that are generated from the headers and the rules.
GENERATED = {"Sources/Portolan/Portolan.docc/contract-reference.md", "docs/conformance.md", "docs/conformance-matrix.md"}
TELLTALES = re.compile(
    r"\b(?:whoever|just now|so many|so-many|so and so|heeds?|nobody's|somebody's|is told|are told|was told|is lent|are lent|was lent)\b"
    r"|\bwhat \S+(?: \S+){0,3} is \S+(?: \S+)?'s\b",
    re.I,
)
CODE = re.compile(r"`[^`]*`")


def allowed():
    with open(ALLOWED, encoding="utf-8") as file:
        return [tuple(line.rstrip("\n").split("\t", 1)) for line in file if line.strip() and not line.startswith("#")]


def comments(lines):
    """Yields the number and the text of each line that is only a comment, except for lines in multi-line string literals."""
    is_text = False
    for number, line in enumerate(lines, 1):
        quotes = line.count('"""')
        if not is_text and not quotes and re.match(r"\s*//", line):
            yield number, line
        if quotes % 2:
            is_text = not is_text


def prose(lines):
    """Yields each line of a page outside of code blocks."""
    is_code = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith("    "):
            yield number, line


def problems(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    is_swift = path.endswith(".swift")
    for number, line in comments(lines) if is_swift else prose(lines):
        if is_swift and len(line) > LONGEST:
            yield number, line, f"a comment of {len(line)} columns; {LONGEST} are the limit"
        if found := TELLTALES.search(CODE.sub("``", line)):
            yield number, line, f"'{found.group()}': write who does what, in plain English (CONTRIBUTING.md)"


def main():
    files = subprocess.check_output(["git", "ls-files", "*.swift", "*.md"], cwd=ROOT, text=True).split("\n")
    entries = allowed()
    unused = set(entries)
    count = 0
    for path in sorted(set(filter(None, files)) - GENERATED):
        for number, line, problem in problems(path):
            excuse = next((entry for entry in entries if entry[0] == path and entry[-1] in line), None)
            if excuse:
                unused.discard(excuse)
                continue
            print(f"{path}:{number}: {problem}")
            count += 1
    for entry in sorted(unused):
        print(f"scripts/prose-allowed.txt: nothing needs '{entry[0]}' '{entry[-1]}'")
    sys.exit(1 if count or unused else 0)


main()
