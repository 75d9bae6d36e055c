# SPDX-License-Identifier: Apache-2.0
"""nghttpd: the HTTP/2 server of the nghttp2 project."""

from .group import Server

# Endpoint, whether it uses TLS, options.
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


def servers(workspace):
    program = workspace.program("nghttpd")
    folder = workspace.folder_for("nghttpd")
    certificate, key = workspace.authority.certificate("good"), workspace.authority.key("good")
    servers_of_part = []
    for name, secure, options in VARIANTS:
        port = workspace.endpoint(name, "https" if secure else "http")
        identity = [key, certificate] if secure else []
        switches = [] if secure else ["--no-tls"]
        command = [program, "--address=127.0.0.1", f"--htdocs={workspace.site}", *switches, *options, str(port), *identity]
        servers_of_part.append(Server(name, command, [port], folder / f"{name}.log"))
    return servers_of_part
