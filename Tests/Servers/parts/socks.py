# SPDX-License-Identifier: Apache-2.0
"""microsocks: SOCKS5 without authentication, and with user and password (RFC 1929)."""

from .group import Server


def servers(spot):
    program = spot.program("microsocks")
    folder = spot.folder_for("socks")
    made = []
    for name, options in [("open", []), ("locked", ["-u", "ishmael", "-P", "call-me"])]:
        port = spot.endpoint(f"socks.{name}", "socks5")
        log = folder / f"{name}.log"
        spot.files[f"socks.{name}.log"] = log
        made.append(Server(f"socks.{name}", [program, "-i", "127.0.0.1", "-p", port, *options], [port], log))
    return made
