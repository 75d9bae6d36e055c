# SPDX-License-Identifier: Apache-2.0
"""Redis without storage: open, and with a password. The files redis.NAME.process have the process identifiers, for tests that stop the server."""

import functools

from .group import Server, accepts
from .workspace import Missing


def servers(workspace):
    folder = workspace.folder_for("redis")
    program = server_program(workspace, folder)
    workspace.values.update({"user": "ishmael", "password": "call-me"})
    servers_of_part = []
    for name, options in [("open", []), ("locked", ["--requirepass", "call-me"])]:
        port = workspace.endpoint(f"redis.{name}", "redis")
        log = folder / f"{name}.log"
        socket, process = folder / f"{name}.socket", folder / f"{name}.pid"
        workspace.files[f"redis.{name}.socket"] = socket
        workspace.files[f"redis.{name}.process"] = process
        command = [
            program, "--port", port, "--bind", "127.0.0.1", "--unixsocket", socket, "--pidfile", process, "--dir", folder,
            "--save", "", "--appendonly", "no", *options]
        responds = functools.partial(has_started, process)
        servers_of_part.append(Server(f"redis.{name}", command, [port], log, responds=responds))
    return servers_of_part


def has_started(process, port):
    """The server listens before it writes the file with its process identifier."""
    return accepts(port) and process.exists() and process.read_text().strip() != ""


def server_program(workspace, folder):
    """Returns the server. Debian's package redis-server only has a link to a program of redis-tools, and starts a service."""
    try:
        return workspace.program("redis-server")
    except Missing:
        link = folder / "redis-server"
        link.symlink_to(workspace.program("redis-check-rdb"))
        return link
