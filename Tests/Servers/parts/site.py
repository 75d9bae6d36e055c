# SPDX-License-Identifier: Apache-2.0
"""Makes the files that the servers serve."""

import gzip
import random
import zlib

MIB = 1 << 20


def make(folder):
    folder.mkdir()
    make_plain(folder)
    make_coded(folder)
    make_multipart(folder)
    for name in ["private", "uploads"]:
        (folder / name).mkdir()
    (folder / "private" / "secret.txt").write_text("The treasure lies under the palm.\n")
    (folder / "uploads").chmod(0o777)
    return folder


def web_page_text(lines):
    """Returns text that compresses about as well as a web page."""
    words = "sea port chart coast wind compass harbour rhumb line cape shoal anchor".split()
    source = random.Random(7)
    return "".join(f"{number}: {' '.join(source.choices(words, k=9))}\n" for number in range(lines))


def make_plain(folder):
    random_bytes = random.Random(1).randbytes(MIB)
    (folder / "empty.bin").write_bytes(b"")
    (folder / "1KiB.bin").write_bytes(random_bytes[:1024])
    (folder / "1MiB.bin").write_bytes(random_bytes)
    make_sparse_file(folder / "64MiB.bin", 64 * MIB)
    make_sparse_file(folder / "1GiB.bin", 1024 * MIB)
    (folder / "hello.txt").write_text("Hello\n")
    (folder / "page.html").write_text(f"<!DOCTYPE html><title>A page</title><pre>\n{web_page_text(600)}</pre>\n")
    (folder / "index.html").write_text("<!DOCTYPE html><title>Portolan</title><p>Here be servers.\n")


def make_sparse_file(path, size):
    """Makes a file of zeros that uses no space on the disk."""
    with open(path, "wb") as file:
        file.truncate(size)


def make_coded(folder):
    """Makes files with the content of plain.txt in several content codings. The configuration of nginx sets the Content-Encoding field."""
    coded = folder / "coded"
    coded.mkdir()
    plain = web_page_text(600).encode()
    raw = zlib.compressobj(wbits=-15)
    half = len(plain) // 2
    files = {
        "plain.txt": plain,
        "gzip": gzip.compress(plain, mtime=0),
        "x-gzip": gzip.compress(plain, mtime=0),
        "members": gzip.compress(plain[:half], mtime=0) + gzip.compress(plain[half:], mtime=0),
        "deflate": zlib.compress(plain),
        "raw-deflate": raw.compress(plain) + raw.flush(),
        "twice": gzip.compress(zlib.compress(plain), mtime=0),
        "unknown": plain,
        "cut": gzip.compress(plain, mtime=0)[:-12],
        "bomb": bomb(),
    }
    for name, bytes in files.items():
        (coded / name).write_bytes(bytes)


def bomb():
    """Returns 1 GiB of zeros in about 1 MB. Repeats a gzip member of 64 MiB, because compressing 1 GiB takes longer."""
    return gzip.compress(bytes(64 * MIB), mtime=0) * 16


def make_multipart(folder):
    parts = [("text/plain", b"one"), ("image/png", bytes(range(256))), ("text/plain", b"--frame is not a boundary here\r\nthree")]
    body = b"".join(
        b"--frame\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n" % (type.encode(), len(data), data) for type, data in parts)
    (folder / "parts").write_bytes(body + b"--frame--\r\n")
