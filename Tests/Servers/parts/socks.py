# SPDX-License-Identifier: Apache-2.0
"""microsocks: SOCKS5 without authentication, and with user and password (RFC 1929)."""

from .group import Server


def servers(workspace):
    program = workspace.program("microsocks")
    folder = workspace.folder_for("socks")
    servers_of_part = []
    for name, options in [("open", []), ("locked", ["-u", "ishmael", "-P", "call-me"])]:
        port = workspace.endpoint(f"socks.{name}", "socks5")
        log = folder / f"{name}.log"
        workspace.files[f"socks.{name}.log"] = log
        servers_of_part.append(Server(f"socks.{name}", [program, "-i", "127.0.0.1", "-p", port, *options], [port], log))
    return servers_of_part
