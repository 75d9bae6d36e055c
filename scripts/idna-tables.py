#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Sources/PortolanURL/IDNA/IDNATable+Data.swift: the data that UTS 46 needs for each code point.

The mapping and the joining types come from the package idna, everything else from unicodedata2. Both must have the same version of Unicode:

    python3 -m venv DIR && DIR/bin/pip install idna unicodedata2
    DIR/bin/python scripts/idna-tables.py > Sources/PortolanURL/IDNA/IDNATable+Data.swift

IDNATable.swift describes the layouts. This script asserts what the layouts and the code assume, so a new version of Unicode that breaks an
assumption causes an error, not a wrong table.
"""
import bisect
import sys

import idna.idnadata
import idna.uts46data as uts46
import unicodedata2 as unicode

VERSION = unicode.unidata_version
assert VERSION == uts46.__version__ == idna.idnadata.__version__, "the packages have different versions of Unicode"

VALID, DISALLOWED, IGNORED, OFFSET, ALTERNATING, SEQUENCE = range(6)
BIDI = ["L", "R", "AL", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"]
OTHER_BIDI = len(BIDI)
JOINING = ["U", "L", "R", "D", "T"]
HANGUL = range(0xAC00, 0xD7A4)
SURROGATES = range(0xD800, 0xE000)
CODE_POINTS = [c for c in range(0x110000) if c not in SURROGATES]


def status(c):
    """Returns valid, disallowed, or the code points that `c` is mapped to. A deviation is valid, because processing is non-transitional."""
    entry = bisect.bisect_right(uts46.uts46_starts, c) - 1
    letter = chr(uts46.uts46_statuses[entry])
    if letter == "M":
        return tuple(map(ord, uts46.uts46_replacements[entry]))
    return {"V": VALID, "D": VALID, "I": (), "X": DISALLOWED}[letter]


STATUS = {c: status(c) for c in CODE_POINTS}
is_valid = {c for c in CODE_POINTS if STATUS[c] == VALID}


def pair(c):
    """Returns the two code points of a primary composite; None for other code points."""
    parts = [int(p, 16) for p in unicode.decomposition(chr(c)).split() if not p.startswith("<")]
    is_canonical = parts and not unicode.decomposition(chr(c)).startswith("<")
    composes = is_canonical and len(parts) == 2 and unicode.normalize("NFC", chr(parts[0]) + chr(parts[1])) == chr(c)
    return tuple(parts) if composes else None


PAIRS = {pair(c): c for c in CODE_POINTS if pair(c)}


def check():
    for c in CODE_POINTS:
        if STATUS[c] in (VALID, DISALLOWED):
            # Normalisation makes no disallowed code point valid, and each valid one is already in form C.
            assert unicode.normalize("NFC", chr(c)) == chr(c), hex(c)
            # Each code point with a canonical decomposition is a primary composite, so only these are decomposed.
            if c in is_valid and c not in HANGUL:
                assert (unicode.normalize("NFD", chr(c)) != chr(c)) == (pair(c) is not None), hex(c)
        else:
            assert all(target in is_valid for target in STATUS[c]), hex(c)
    for (first, second), c in PAIRS.items():
        assert (c in is_valid) == (first in is_valid and second in is_valid), hex(c)
        # Form C of a domain is form C of each label, because no composite has a dot as a part.
        assert 0x2E not in (first, second)
        # Code points below U+0300 never compose with the one before them.
        assert second >= 0x300, hex(c)
        assert unicode.combining(chr(first)) == 0, hex(first)
    for c in range(0x80):
        assert STATUS[c] == ((c + 32,) if 0x41 <= c <= 0x5A else VALID), hex(c)
    assert all(unicode.combining(chr(c)) == 0 and unicode.category(chr(c))[0] != "M" for c in range(0x300))


def mapping_records():
    """Returns runs of code points that one record can describe, and the targets of the sequences among them."""
    pool, records, c = [], [], 0

    def status_at(c):
        return DISALLOWED if c in SURROGATES else STATUS.get(c)

    def run(c, fits):
        end = c
        while end < 0x110000 and fits(end):
            end += 1
        return end - c

    def is_single(c):
        return isinstance(status_at(c), tuple) and len(status_at(c)) == 1

    while c < 0x110000:
        here = status_at(c)
        if here in (VALID, DISALLOWED, ()):
            length = run(c, lambda x: status_at(x) == here)
            records.append((c, IGNORED if here == () else here, 0))
            c += length
            continue
        offset = run(c, lambda x: is_single(x) and status_at(x)[0] - x == here[0] - c)
        alternating = run(c, lambda x: status_at(x) == ((x + 1,) if (x - c) % 2 == 0 else VALID))
        while alternating and status_at(c + alternating - 1) == VALID and not is_single(c + alternating):
            alternating -= 1  # The valid code points after the last mapped one form another run.
        if max(offset, alternating) >= 3:
            kind, length = (OFFSET, offset) if offset >= alternating else (ALTERNATING, alternating)
            records.append((c, kind, here[0] if kind == OFFSET else 0))
            c += length
            continue

        def starts_other_run(x):
            return x > c and (
                all(is_single(x + i) and status_at(x + i)[0] - x - i == status_at(x)[0] - x for i in range(3))
                or all(status_at(x + i) == ((x + i + 1,) if i % 2 == 0 else VALID) for i in range(3))
            )

        length = run(c, lambda x: isinstance(status_at(x), tuple) and len(status_at(x)) == len(here) and not starts_other_run(x))
        targets = [t for x in range(c, c + length) for t in status_at(x)]
        if length == 1 and len(here) == 1:
            records.append((c, OFFSET, here[0]))
        else:
            at = next((i for i in range(len(pool)) if pool[i : i + len(targets)] == targets), None)
            if at is None:
                at = len(pool)
                pool += targets
            records.append((c, SEQUENCE, at | len(here) << 16))
        c += length
    return records, pool


def check_mapping(records, pool):
    """Looks up each code point in the finished table, as IDNATable.swift does."""
    starts = [c for c, _, _ in records]
    for c in CODE_POINTS:
        start, kind, value = records[bisect.bisect_right(starts, c) - 1]
        distance = c - start
        if kind == OFFSET:
            found = (value + distance,)
        elif kind == ALTERNATING:
            found = (c + 1,) if distance % 2 == 0 else VALID
        elif kind == SEQUENCE:
            length, first = value >> 16, (value & 0xFFFF) + distance * (value >> 16)
            found = tuple(pool[first : first + length])
        else:
            found = () if kind == IGNORED else kind
        assert found == STATUS[c], hex(c)


def property_records():
    joining = {}
    for letter, ranges in idna.idnadata.joining_types.items():
        for r in ranges:
            for c in range(r >> 32, r & 0xFFFFFFFF):
                joining[c] = letter
    records = []
    for c in CODE_POINTS:
        if c not in is_valid:
            continue  # No rule reads the properties of these code points, so they never end a run.
        bidi = unicode.bidirectional(chr(c))
        bits = BIDI.index(bidi) if bidi in BIDI else OTHER_BIDI
        kind = joining.get(c, "U")
        bits |= (JOINING.index(kind) if kind in JOINING else 0) << 4
        bits |= (unicode.category(chr(c))[0] == "M") << 7
        if not records or records[-1][1] != bits:
            records.append((c, bits))
    return records


def combining_records():
    records = [(0, 0)]
    for c in CODE_POINTS:
        if c in is_valid and unicode.combining(chr(c)) != records[-1][1]:
            records.append((c, unicode.combining(chr(c))))
    return records


def array(name, comment, type_, values, digits):
    print(f"\n    /// {comment}")
    print(f"    static let {name}: [{type_}] = [")
    texts = [f"0x{v:0{digits}x}," for v in values]
    per_line = 130 // (len(texts[0]) + 1)
    for i in range(0, len(texts), per_line):
        print("        " + " ".join(texts[i : i + per_line]))
    print("    ]")


def main():
    check()
    mapping, pool = mapping_records()
    assert len(pool) < 1 << 16
    check_mapping(mapping, pool)
    pairs = sorted((first, second, c) for (first, second), c in PAIRS.items() if c in is_valid)
    by_composite = sorted(range(len(pairs)), key=lambda i: pairs[i][2])
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// swift-format-ignore-file")
    print(f"\n// Written by scripts/idna-tables.py from Unicode {VERSION}; IDNATable.swift describes the bits.")
    print("\nextension IDNATable {")
    print(f'    static let unicodeVersion = "{VERSION}"')
    array("mapping", "Runs of code points with the same status.", "UInt64", [c | k << 21 | v << 24 for c, k, v in mapping], 12)
    array("mappingTargets", "The code points that sequences are mapped to.", "UInt32", pool, 5)
    array("properties", "Runs of code points with the same properties.", "UInt32", [c | b << 21 for c, b in property_records()], 8)
    array("combiningClasses", "Runs of code points with the same combining class.", "UInt32", [c | b << 21 for c, b in combining_records()], 8)
    array("compositions", "Primary composites, sorted by the two code points they consist of.", "UInt64",
          [f << 42 | s << 21 | c for f, s, c in pairs], 16)
    array("compositionsByComposite", "The indices of the composites in `compositions`, sorted by composite.", "UInt16", by_composite, 3)
    print("}")
    sizes = {"mapping": 8 * len(mapping), "targets": 4 * len(pool), "properties": 4 * len(property_records()),
             "classes": 4 * len(combining_records()), "compositions": 10 * len(pairs)}
    print(f"Unicode {VERSION}: {sizes} = {sum(sizes.values())} bytes", file=sys.stderr)


main()
