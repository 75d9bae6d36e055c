#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each Swift block of README.md and of the pages without changes.

    scripts/examples.py MODULES

MODULES is the folder with the built modules (`.build/debug/Modules`). Each block becomes the body of a function in a separate file, with the
imports of the block, or with `import Portolan` if it has none. scripts/examples.swift declares the names that the text around a block explains.
A block that declares a C function (`@_cdecl`) is compiled at file scope, with the blocks above it on the page. If a block compares libraries,
below comments with their names, only the parts of Portolan and URLSession are compiled. Indented blocks are not compiled. scripts/tutorials.py
runs the blocks of the tutorials.
"""
import glob, os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = ["README.md", *sorted(glob.glob("docs/*.md", root_dir=ROOT)), *sorted(glob.glob("Sources/Portolan/Portolan.docc/*.md", root_dir=ROOT))]
# Whether the part of a block below the comment with this name is compiled. The package does not depend on AsyncHTTPClient.
LIBRARIES = {"Portolan": True, "URLSession": True, "AsyncHTTPClient": False}


def blocks(page):
    """Yields the number of the first line, and the lines, of each part of each Swift block."""
    lines = open(os.path.join(ROOT, page)).read().split("\n")
    for start in [number for number, line in enumerate(lines) if line == "```swift"]:
        end = lines.index("```", start)
        parts = [(start + 1, "Portolan")]
        for number in range(start + 1, end):
            title = re.fullmatch(r"// (\w+)", lines[number])
            if title and title[1] in LIBRARIES:
                parts = [*(parts if number > start + 1 else []), (number, title[1])]
        for (first, library), last in zip(parts, [*(first for first, _ in parts[1:]), end]):
            if LIBRARIES[library]:
                yield first + 1, lines[first:last]


def sources(page):
    """Yields the text of each file to compile."""
    above = []
    for first, lines in blocks(page):
        imports = [line for line in lines if line.startswith("import ")]
        # An import becomes an empty line, so that errors name the lines of the page.
        body = "\n".join("" if line in imports else line for line in lines)
        place = f'#sourceLocation(file: "{page}", line: {first})\n{body}\n#sourceLocation()\n'
        imports = imports or ["import Portolan"]
        if "@_cdecl" in body:
            yield "\n".join([*(line for line, _ in above), *imports, *(text for _, text in above), place])
        else:
            yield "\n".join([*imports, "private func example() async throws {", place, "}\n"])
        above.append(("\n".join(imports), place))


def main():
    modules, = sys.argv[1:]
    # The modules of C libraries, which the Swift modules import: this package's, and the one of GRDB for SQLite.
    folders = [f"{ROOT}/Sources/C*", f"{ROOT}/.build/checkouts/*/Sources/GRDBSQLite"]
    maps = [os.path.dirname(path) for folder in folders for path in glob.glob(f"{folder}/**/module.modulemap", recursive=True)]
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(ROOT, "scripts/examples.swift")]
        for page in PAGES:
            if os.path.basename(page).startswith("tutorial-"):
                continue
            for text in sources(page):
                files.append(os.path.join(folder, f"{len(files)}.swift"))
                open(files[-1], "w").write(text)
        command = ["swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", "-suppress-warnings"]
        for path in [modules, *maps]:
            command += ["-I", path]
        outcome = subprocess.run(command + files, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if outcome.returncode != 0:
            sys.exit(outcome.stdout + f"examples: swiftc ended with status {outcome.returncode}")
    print(f"examples: {len(files) - 1} Swift blocks compile as the pages print them")


main()
