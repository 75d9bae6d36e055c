#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows each tutorial in an empty folder, and compares the output and the exit statuses of the commands with the page.

    scripts/tutorials.py swift|portolan FOLDER [PAGE…]

Every fenced block of a page must be one of these:
- a file: the line before the block is "`PATH`:", and the block is the contents of the file;
- a change of a file: the line "In `PATH`, replace", a block with the old text, the line "by", and a block with the new text;
- a console: commands after "$ ", each followed by its output. A line "…" means any lines, and "…" within a line means any text.

A command must succeed. If a command fails on purpose, the next command is "echo $?", whose output is the expected exit status.

With `swift`, the script runs only the commands that begin with "swift". The package of the tutorial then depends on $PORTOLAN_URL, from version
$PORTOLAN_VERSION, and is built in $SCRATCH. With `portolan`, the script runs all other commands, with the program $PORTOLAN.
"""
import os, re, shutil, subprocess, sys

PAGES = ["tutorial-embed", "tutorial-protocol", "tutorial-check"]
DOCC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Sources/Portolan/Portolan.docc")


class Problem(Exception):
    pass


def blocks(text):
    """Yields the line before each fenced block, its language, its text and its line number."""
    lines, before, index = text.split("\n"), "", 0
    while index < len(lines):
        fence = re.fullmatch(r"```(\w+)", lines[index])
        if not fence:
            if lines[index].startswith("```"):
                raise Problem(f"line {index + 1}: a block without a language")
            if lines[index].strip():
                before = lines[index].strip()
            index += 1
            continue
        end = lines.index("```", index)
        yield before, fence[1], "\n".join(lines[index + 1:end]) + "\n", index + 1
        index, before = end + 1, ""


def matches(expected, printed):
    """Returns whether the printed lines match the expected ones."""
    if not expected:
        return not printed
    if expected[0] == "…":
        return any(matches(expected[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    if not printed:
        return False
    pattern = ".*".join(re.escape(part) for part in expected[0].split("…"))
    return re.fullmatch(pattern, printed[0]) is not None and matches(expected[1:], printed[1:])


def run(command, folder):
    outcome = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        env=dict(os.environ, PWD=folder))
    printed = outcome.stdout.rstrip("\n").split("\n") if outcome.stdout.strip("\n") else []
    return printed, outcome.returncode


def expected_status(part):
    """The exit status that the command before `part` must have."""
    status = re.fullmatch(r"echo \$\?\n(\d+)\n*", part)
    return int(status[1]) if status else 0


def console(text, folder, mode, line):
    count = 0
    parts = re.split(r"(?m)^\$ ", text)[1:]
    for part, following in zip(parts, [*parts[1:], ""]):
        command, *expected = part.rstrip("\n").split("\n")
        if command == "echo $?":
            continue
        is_swift = command.startswith("swift ")
        if is_swift != (mode == "swift"):
            continue
        if is_swift:
            command = re.sub(r"^(swift \w+)", rf"\1 --scratch-path '{os.environ['SCRATCH']}' --disable-dependency-cache", command)
            command += " 2>errors" if " -q " in command + " " else ""
        printed, status = run(command, folder)
        if not matches(expected, printed):
            errors = os.path.join(folder, "errors")
            more = open(errors).read() if is_swift and os.path.exists(errors) else ""
            raise Problem(f"line {line}: `{command}` printed\n" + "\n".join(printed) + more + "\ninstead of\n" + "\n".join(expected))
        if status != expected_status(following):
            raise Problem(f"line {line}: `{command}` ended with status {status} instead of {expected_status(following)}\n" + "\n".join(printed))
        count += 1
    return count


def follow(page, folder, mode):
    """Follows the page, and returns the number of commands that ran."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    count, change = 0, None
    for before, language, text, line in blocks(open(os.path.join(DOCC, f"{page}.md")).read()):
        file, replace = re.fullmatch(r"`([^`]+)`:", before), re.fullmatch(r"In `([^`]+)`, replace", before)
        if change:
            if before != "by":
                raise Problem(f"line {line}: the block after `replace` must follow 'by'")
            place, old = change
            change = None
            # The command that creates the file can belong to the other run.
            if mode == "portolan" or os.path.exists(place):
                contents = open(place).read()
                if contents.count(old) != 1:
                    raise Problem(f"line {line}: {place} has the text to replace {contents.count(old)} times")
                open(place, "w").write(contents.replace(old, text))
        elif replace:
            change = (os.path.join(folder, replace[1]), text)
        elif language == "console":
            count += console(text, folder, mode, line)
        elif file:
            place = os.path.join(folder, file[1])
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if file[1] == "Package.swift" and mode == "swift":
                path = '.package(path: "../portolan")'
                if path not in text:
                    raise Problem(f"line {line}: Package.swift does not depend on ../portolan")
                text = text.replace(path, f'.package(url: "{os.environ["PORTOLAN_URL"]}", from: "{os.environ["PORTOLAN_VERSION"]}")')
            open(place, "w").write(text)
        else:
            raise Problem(f"line {line}: this block is not a file, a change or a console")
    return count


def main():
    mode, folder, *pages = sys.argv[1:]
    if mode == "portolan":
        commands = os.path.join(os.path.abspath(folder), "bin")
        os.makedirs(commands, exist_ok=True)
        link = os.path.join(commands, "portolan")
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(os.path.abspath(os.environ.pop("PORTOLAN")), link)
        os.environ["PATH"] = commands + ":" + os.environ["PATH"]
        os.environ["HOME"] = os.path.abspath(folder)
    total = 0
    for page in pages or PAGES:
        try:
            count = follow(page, os.path.join(os.path.abspath(folder), page), mode)
        except (Problem, ValueError, OSError, subprocess.SubprocessError) as problem:
            sys.exit(f"Sources/Portolan/Portolan.docc/{page}.md: {problem}")
        total += count
    print(f"tutorials: {total} commands printed what the pages say")


main()
