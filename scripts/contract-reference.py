#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the plugin contract from the comments of the C headers.

    scripts/contract-reference.py            writes Sources/Portolan/Portolan.docc/contract-reference.md
    scripts/contract-reference.py --check    exits with 1 if that page does not match the headers

A function without a comment is an error, and so is a commented declaration that it cannot parse. So the page is complete.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "Sources/CPortolan/include/portolan"
PAGE = ROOT / "Sources/Portolan/Portolan.docc/contract-reference.md"

RULE = re.compile(r"\b([A-Z]{3,9})-(\d\d)(?: to \1-(\d\d))?")
# The thread words of base.h, and the words with which the headers state ownership.
THREADS = re.compile(r"^\[(?:any|serial|load-thread|concurrent)\].*?(?=\. Check:|\.?$)", re.MULTILINE)
OWNERSHIP = re.compile(r"[^.;:]*\b(?:borrowed|copy|copies|keeps|kept|valid until|invalid|frees)\b[^.;:]*")


class ParseError(Exception):
    pass


class Entry:
    """A declaration with its comment. Members of a struct or an enumeration are entries, too."""

    def __init__(self, name, code, comment, members=()):
        self.name, self.code, self.comment, self.members = name, code, comment, list(members)

    @property
    def is_function(self):
        return "(" in self.code and not self.code.startswith("#define")


def comment_text(lines):
    """Returns the text of a block of '///' lines."""
    return "\n".join(re.sub(r"^\s*/// ?", "", line) for line in lines).strip("\n")


def readable_code(code):
    """Returns C code for readers: with the short spelling of Clang's nullability marks, and without extra indentation."""
    code = re.sub(r"\s*PORTOLAN_NONNULL\s*", "", code).replace("PORTOLAN_NULLABLE", "_Nullable")
    return re.sub(r"\n\s+", "\n    ", code.strip())


def members(body, where):
    """Returns the members of a struct or an enumeration, each with the comment above or behind the member."""
    entries, comment, code = [], [], ""
    for line in body.split("\n"):
        text = line.strip()
        if not code and text.startswith("///"):
            comment.append(line)
            continue
        if not text:
            comment = comment if code else []
            continue
        declaration, _, behind = text.partition("///<")
        code += ("\n" if code else "") + declaration.strip()
        if behind:
            comment.append("/// " + behind.strip())
        closes = code.count("(") == code.count(")") and (code.endswith((";", ",")) or where == "enum")
        if closes:
            found = re.search(r"\(\*(?:_?\w+\s+)*?(\w+)\)\(", readable_code(code)) or re.match(r"(PORTOLAN_\w+)", code)
            name = found.group(1) if found else re.sub(r"\[.*", "", code.rstrip(";").split(",")[-1].split()[-1].lstrip("*"))
            entries.append(Entry(name, readable_code(code), comment_text(comment)))
            comment, code = [], ""
    if code:
        raise ParseError(f"{where}: '{code}' can't be parsed")
    return entries


def read(path):
    """Returns the comment of the whole header, and its declarations in their order."""
    lines = path.read_text(encoding="utf-8").split("\n")
    at, comment, header_comment, entries = 0, [], None, []
    while at < len(lines):
        line = lines[at]
        if line.startswith("///"):
            comment.append(line)
        elif not comment:
            if line.startswith("#define PORTOLAN_") and entries and lines[at - 1].startswith("#define"):
                entries[-1].code += "\n" + line
        elif line.startswith("#ifndef PORTOLAN_") and header_comment is None:
            header_comment, comment = comment_text(comment), []
        elif match := re.match(r"#define (PORTOLAN_\w+)", line):
            entries.append(Entry(match.group(1), line.rstrip("\\ "), comment_text(comment)))
            comment = []
        elif line.startswith("#if"):
            # A macro with several definitions: shows only its name and parameters.
            while not lines[at].startswith("#endif"):
                at += 1
                match = match or re.match(r"#define (PORTOLAN_\w+)(\([^)]*\))?", lines[at])
            entries.append(Entry(match.group(1), match.group(0), comment_text(comment)))
            comment = []
        elif match := re.match(r"PORTOLAN_ENUM\((\w+)\) \{", line):
            end = lines.index("};", at)
            inside = members("\n".join(lines[at + 1 : end]), "enum")
            entries.append(Entry(match.group(1), f"enum {match.group(1)} : int32_t", comment_text(comment), inside))
            at, comment = end, []
        elif match := re.match(r"typedef struct (\w+) (\w+);", line):
            name, inside = match.group(1), []
            if at + 1 < len(lines) and lines[at + 1] == f"struct {name} {{":
                end = lines.index("};", at)
                inside, at = members("\n".join(lines[at + 2 : end]), name), end
            entries.append(Entry(name, f"struct {name}", comment_text(comment), inside))
            comment = []
        elif match := re.match(r"typedef struct (\w+) \{$", line):
            name = match.group(1)
            end = lines.index(f"}} {name};", at)
            entries.append(Entry(name, f"struct {name}", comment_text(comment), members("\n".join(lines[at + 1 : end]), name)))
            at, comment = end, []
        elif match := re.match(r"(?:PORTOLAN_EXPORT|static inline) ", line):
            code = line
            while not re.search(r"[;{]$", code):
                at += 1
                code += "\n" + lines[at]
            code = readable_code(re.sub(r"^(PORTOLAN_EXPORT|static inline) ", "", code).rstrip("{; "))
            entries.append(Entry(re.search(r"\b(portolan_\w+)\(", code).group(1), code, comment_text(comment)))
            comment = []
        else:
            raise ParseError(f"{path.name}:{at + 1}: there is a comment above '{line.strip()}', which can't be parsed")
        at += 1
    if header_comment is None:
        raise ParseError(f"{path.name} has no comment for the whole file")
    return header_comment, entries


def rules(text):
    """The IDs in a text, including those inside a range."""
    found = []
    for area, first, last in RULE.findall(text):
        found += [f"{area}-{number:02}" for number in range(int(first), int(last or first) + 1)]
    return found


def prose(comment):
    """A comment as Markdown, with the rules in a separate paragraph."""
    lines = []
    for line in comment.split("\n"):
        code = line.startswith("    ")
        if not code:
            # Escaped, because Markdown would make a link of a bracketed word.
            line = re.sub(r"(?<!`)\[([a-z-]+)\]", r"**\[\1\]**", line)
            line = re.sub(r"\b(PORTOLAN_\w+|portolan_\w+)\b(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", line)
            line = re.sub(r"(?<![`\w])Check: ", "Rules: ", line)
        lines.append(line)
    text = "\n".join(lines)
    return re.sub(r"\n(?=Rules: )", "\n\n", text)


def threads(comment):
    found = THREADS.search(comment)
    return re.sub(r"\[([a-z-]+)\]", r"\1", found.group()) if found else ""


def ownership(comment):
    """The clauses of a comment that say who owns what."""
    clauses = [found.group().strip() for found in OWNERSHIP.finditer(THREADS.sub("", comment).replace("\n", " "))]
    return "; ".join(clause[0].lower() + clause[1:] for clause in clauses).replace("|", "\\|")


def checks(comment):
    return " ".join(re.findall(r"Check: (.*)", comment))


def entry_lines(entry, level):
    """Returns the lines of the page for an entry and its members."""
    out = [f"{'#' * level} {entry.name}", "", "```c", entry.code, "```", "", prose(entry.comment), ""]
    if entry.code.startswith("enum") and entry.members:
        out += ["| value | meaning |", "| --- | --- |"]
        out += [f"| `{member.code.rstrip(',')}` | {prose(member.comment).replace(chr(10), ' ').replace('|', chr(92) + '|')} |" for member in entry.members]
        out.append("")
        return out
    plain = [member for member in entry.members if not member.is_function]
    if plain:
        out += ["| member | meaning |", "| --- | --- |"]
        out += [f"| `{member.code.rstrip(';')}` | {prose(member.comment).replace(chr(10), ' ').replace('|', chr(92) + '|')} |" for member in plain]
        out.append("")
    for member in entry.members:
        if member.is_function:
            if not member.comment:
                raise ParseError(f"{entry.name}.{member.name} has no comment")
            out += entry_lines(member, level + 1)
    return out


def page():
    order = re.findall(r'#include "(\w+\.h)"', (HEADERS / "portolan.h").read_text(encoding="utf-8"))
    other_headers = sorted(path.name for path in HEADERS.glob("*.h") if path.name not in order + ["portolan.h"])
    read_headers = [(name, *read(HEADERS / name)) for name in order + other_headers]
    overview, _ = read(HEADERS / "portolan.h")

    glance, index = [], {}
    for name, header_comment, entries in read_headers:
        for rule in rules(header_comment):
            index.setdefault(rule, []).append(name)
        for entry in entries:
            for part in [entry] + entry.members:
                label = entry.name if part is entry else f"{entry.name}.{part.name}"
                for rule in dict.fromkeys(rules(part.comment)):
                    index.setdefault(rule, []).append(f"`{label}`")
                if part.is_function and name != "helpers.h":
                    glance.append(f"| `{label}` | {threads(part.comment)} | {ownership(part.comment)} | {checks(part.comment)} |")

    out = ["# The contract reference", "", "Every function, struct and constant of the C headers, with its threads, its ownership and its rules.", "",
           "<!-- Written by scripts/contract-reference.py from Sources/CPortolan/include/portolan: change the headers, and run it. -->", "",
           prose(overview), "", "Only what is marked `_Nullable` may be NULL. <doc:contract> shows each function beside its Swift counterpart.", "",
           "## Functions at a glance", "",
           "The words for threads are those of base.h. Ownership says what is borrowed for longer or shorter than the call, and who copies what. An empty cell means that arguments and results are borrowed for the call.", "",
           "| function | threads | ownership | rules |", "| --- | --- | --- | --- |"] + glance + [""]
    for name, header_comment, entries in read_headers:
        out += [f"## {name}", "", prose(header_comment), ""]
        for entry in entries:
            out += entry_lines(entry, 3)
    out += ["## Rules", "", "The declarations that mention a rule. A load that violates a rule fails with the rule's ID.", "", "| rule | where |", "| --- | --- |"]
    out += [f"| {rule} | {', '.join(dict.fromkeys(index[rule]))} |" for rule in sorted(index)]
    return "\n".join(out) + "\n"


def main():
    try:
        text = page()
    except ParseError as fault:
        sys.exit(f"scripts/contract-reference.py: {fault}")
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE.relative_to(ROOT)} does not match the headers: run scripts/contract-reference.py, and commit the page")
    elif sys.argv[1:]:
        sys.exit("usage: scripts/contract-reference.py [--check]")
    else:
        PAGE.write_text(text, encoding="utf-8")


main()
