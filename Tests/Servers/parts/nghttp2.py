# SPDX-License-Identifier: Apache-2.0
"""nghttpd: HTTP/2 as the people see it who wrote the library."""

from .group import Server

# Endpoint, whether there is TLS, options.
VARIANTS = [
    ("nghttpd.https", True, []),
    ("nghttpd.http", False, []),
    ("nghttpd.trailers", True, ["--trailer=x-checksum: abc", "--trailer=x-status: done"]),
    ("nghttpd.early", True, ["--early-response"]),
    ("nghttpd.echo", True, ["--echo-upload"]),
    ("nghttpd.one", True, ["--max-concurrent-streams=1"]),
    ("nghttpd.narrow", True, ["--window-bits=10", "--connection-window-bits=16", "--echo-upload"]),
    ("nghttpd.padded", True, ["--padding=200", "--no-content-length"]),
    ("nghttpd.push", True, ["--push=/page.html=/hello.txt"]),
]


def servers(spot):
    program = spot.program("nghttpd")
    folder = spot.folder_for("nghttpd")
    certificate, key = spot.authority.certificate("good"), spot.authority.key("good")
    made = []
    for name, secure, options in VARIANTS:
        port = spot.endpoint(name, "https" if secure else "http")
        identity = [key, certificate] if secure else []
        switches = [] if secure else ["--no-tls"]
        command = [program, "--address=127.0.0.1", f"--htdocs={spot.site}", *switches, *options, str(port), *identity]
        made.append(Server(name, command, [port], folder / f"{name}.log"))
    return made
