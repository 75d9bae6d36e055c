#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links of the pages, and installs the pages with links that work.

    scripts/pages.py check PATH…            checks every relative link of the pages in these files and folders
    scripts/pages.py install FOLDER         installs the pages of this repository in FOLDER, which is PREFIX/share/doc/portolan

In an installed page, a link to an installed file gets the path of that file. Any other relative link becomes plain text.
Links of DocC are read only in a folder whose name ends in .docc: doc:NAME is NAME.md beside the page, and an image is a file in Resources.
"""
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCC = "Sources/Portolan/Portolan.docc"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)|<(doc:[\w-]+)>")


def masked(text):
    """Returns the text with its code replaced by placeholders, so that code that looks like a link is ignored, and the pieces of code."""
    pieces = []

    def store_code(match):
        pieces.append(match.group(0))
        return f"\0{len(pieces) - 1}\0"

    text = re.sub(r"^(```+|~~~+).*?^\1[^\n]*$", store_code, text, flags=re.S | re.M)
    return re.sub(r"(`+)(?!`)(?:.(?!\n\n))*?(?<!`)\1(?!`)", store_code, text, flags=re.S), pieces


def unmasked(text, pieces):
    while "\0" in text:
        text = re.sub("\0(\\d+)\0", lambda match: pieces[int(match.group(1))], text)
    return text


def anchors(page):
    """Returns the anchors of the page's headings, as hosts of repositories generate them."""
    with open(page, encoding="utf-8") as file:
        text, pieces = masked(file.read())
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", text, flags=re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", unmasked(heading, pieces))
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (name if number == 0 else f"{name}-{number}") in found:
            number += 1
        found.add(name if number == 0 else f"{name}-{number}")
    return found


def target_of(page, match):
    """Returns the path and the anchor of a link; None for a link to another site."""
    mark, _, url, doc = match.groups()
    url = doc or url
    folder = os.path.dirname(page)
    in_docc = folder.endswith(".docc")
    if url.startswith("doc:"):
        # Outside of DocC folders, the returned path does not exist.
        return (os.path.join(folder, url[4:] + ".md") if in_docc else os.path.join(folder, url)), ""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url):
        return None
    path, _, anchor = url.partition("#")
    if mark and in_docc and "/" not in path:
        return os.path.join(folder, "Resources", path if path.endswith(".svg") else path + ".svg"), ""
    return os.path.normpath(os.path.join(folder, path)) if path else page, anchor


def pages_in(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, files in os.walk(path):
            # Hidden folders belong to builds.
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".md"))


def check(paths):
    dead = count = 0
    for page in pages_in(paths):
        with open(page, encoding="utf-8") as file:
            text, pieces = masked(file.read())
        for match in LINK.finditer(text):
            target = target_of(page, match)
            if target is None:
                continue
            count += 1
            path, anchor = target
            problem = None
            if not os.path.exists(path):
                problem = "leads to no file"
            elif anchor and path.endswith(".md") and anchor not in anchors(path):
                problem = "leads to no heading"
            if problem:
                dead += 1
                line = unmasked(text[: match.start()], pieces).count("\n") + 1
                print(f"{page}:{line}: '{match.group(3) or match.group(4)}' {problem}")
    if dead:
        return f"{dead} of {count} links are dead"
    if not count:
        return "no page with a link was found"
    print(f"{count} links lead somewhere")
    return None


def installed_files():
    """Returns the installed path of each file, relative to the folder of the pages."""
    result = {"README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "LICENSE": "LICENSE"}
    for folder, place in (("docs", ""), (DOCC, ""), (f"{DOCC}/Resources", "Resources/")):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if os.path.isfile(os.path.join(ROOT, folder, name)):
                result[f"{folder}/{name}"] = place + name
    # Files that scripts/install.sh installs in other folders.
    result["docs/plugin-manifest.schema.json"] = "../../portolan/plugin-manifest.schema.json"
    result["Sources/CPortolan/include/portolan"] = "../../../include/portolan"
    assert len(set(result.values())) == len(result), "two files have one name"
    return result


def install(folder):
    places = installed_files()

    def rewritten(page, text):
        text, pieces = masked(text)

        def link(match):
            target = target_of(page, match)
            if target is None:
                return match.group(0)
            path, anchor = target
            place = places.get(os.path.relpath(path, ROOT))
            mark, words, _, doc = match.groups()
            words = words or doc[4:]
            if place is None:
                return words
            # Uses a root that is deep enough for "..", because the current folder may not be.
            root = "/share/doc/portolan/"
            place = os.path.relpath(root + place, root + os.path.dirname(places[os.path.relpath(page, ROOT)]))
            return f"{mark or ''}[{words}]({place}{'#' + anchor if anchor else ''})"

        return unmasked(LINK.sub(link, text), pieces)

    for source, place in places.items():
        if place.startswith(".."):
            continue
        source, place = os.path.join(ROOT, source), os.path.join(folder, place)
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        new = os.path.join(os.path.dirname(place), f".{os.path.basename(place)}.new")
        if source.endswith(".md"):
            with open(source, encoding="utf-8") as file, open(new, "w", encoding="utf-8") as page:
                page.write(rewritten(source, file.read()))
        else:
            shutil.copyfile(source, new)
        os.chmod(new, 0o644)
        os.replace(new, place)


match sys.argv[1:]:
    case ["check", *paths] if paths:
        sys.exit(check(paths))
    case ["install", folder]:
        install(folder)
    case _:
        sys.exit(__doc__.strip())
