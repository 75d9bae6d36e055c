#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of public suffixes from Debian's package `publicsuffix`.

    scripts/public-suffixes.py [LIST] > Sources/PortolanCookies/PublicSuffixes/PublicSuffixTable.swift

The table has one line for each domain of a rule, sorted by bytes: the domain in its xn-- form, a tab, and the sum of 1 (the domain is a
public suffix), 2 (`*.`: each domain directly below it is one) and 4 (`!`: the domain is not one, although `*.` applies).
"""
import re, sys

DEFAULT = "/usr/share/publicsuffix/public_suffix_list.dat"


def ascii_form(domain):
    return ".".join(label if label.isascii() else "xn--" + label.encode("punycode").decode() for label in domain.split("."))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else DEFAULT
    text = open(path, encoding="utf-8").read()
    rules = {}
    for line in text.split("\n"):
        rule = line.split()[0] if line.strip() and not line.startswith("//") else None
        if rule is None:
            continue
        value, domain = 1, rule
        if rule.startswith("*."):
            value, domain = 2, rule[2:]
        elif rule.startswith("!"):
            value, domain = 4, rule[1:]
        if "*" in domain or not re.fullmatch(r"[^\s/!]+", domain):
            sys.exit(f"{path}: the rule '{rule}' has a form that this script does not know")
        domain = ascii_form(domain.lower())
        rules[domain] = rules.get(domain, 0) | value
    if len(rules) < 1000:
        sys.exit(f"{path}: only {len(rules)} domains; this is not the list of public suffixes")
    version = re.search(r"// VERSION: (\S+)", text)
    print("// SPDX-License-Identifier: MPL-2.0")
    print()
    print("// Made by scripts/public-suffixes.py from the Public Suffix List" + (f", version {version[1]}." if version else "."))
    print("// Don't edit: run `make update-psl`. The data is under the Mozilla Public License 2.0 (publicsuffix.org).")
    print()
    print("enum PublicSuffixTable {")
    print(f"    /// {len(rules)} domains.")
    print('    static let lines: StaticString = """')
    for domain in sorted(rules, key=lambda domain: (domain + "\t").encode()):
        print(f"        {domain}\\t{rules[domain]}")
    print()
    print('        """')
    print("}")


main()
