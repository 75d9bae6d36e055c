# SPDX-License-Identifier: Apache-2.0
"""Starts the server processes, waits until they are ready, and ends them."""

import ctypes
import dataclasses
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time
import typing

from .workspace import Missing

PR_SET_PDEATHSIG = 1
# Seconds until a server must respond.
READY_WITHIN = 30
SHARED_MEMORY = pathlib.Path("/dev/shm")

libc = ctypes.CDLL(None, use_errno=True)


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


@dataclasses.dataclass
class Server:
    """A server with one process in the foreground. The kernel would not end its child processes."""

    name: str
    command: list
    ports: list
    log: pathlib.Path
    environment: dict = dataclasses.field(default_factory=dict)
    # Whether the server refuses to run as root.
    unprivileged: bool = False
    # The log that the server writes after it has read its configuration, if it is another file.
    later_log: pathlib.Path = None
    # A pattern for the files in /dev/shm that the server leaves when it is killed.
    shared_memory: str = None
    # Returns whether the server responds on a port.
    responds: typing.Callable[[int], bool] = accepts

    def last_output(self):
        return tail(self.later_log) or tail(self.log) or "it printed nothing"


class Group:
    """The running servers. Kills them at the end."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _, _, process in self.processes:
            process.kill()
        for _, server, process in self.processes:
            process.wait()
            for file in SHARED_MEMORY.glob(server.shared_memory) if server.shared_memory else []:
                file.unlink(missing_ok=True)

    def add(self, part, servers):
        for server in servers:
            self.processes.append((part, server, self.start(server)))

    def start(self, server):
        parent = os.getpid()

        def set_up_child():
            # Runs after the change of user, which would clear the setting. The parent can have ended before the call.
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        account = {}
        if server.unprivileged and os.geteuid() == 0:
            closed_folder = self.workspace.inaccessible_folder()
            if closed_folder:
                raise Missing(f"it runs as nobody, who may not enter {closed_folder}: 'chmod o+x {closed_folder}', or set TMPDIR to another folder")
            account = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        with open(server.log, "ab") as log:
            return subprocess.Popen(
                [str(word) for word in server.command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.workspace.folder,
                env={**os.environ, "LC_ALL": "C", **server.environment}, preexec_fn=set_up_child, **account)

    def wait_until_ready(self):
        """Returns the parts that do not respond within the time limit, with the reasons."""
        missing = {}
        deadline = time.monotonic() + READY_WITHIN
        for part, server, process in self.processes:
            for port in server.ports:
                while part not in missing and not server.responds(port):
                    if process.poll() is not None:
                        missing[part] = f"{server.name} ended with {process.returncode} at its start: {server.last_output()}"
                    elif time.monotonic() > deadline:
                        missing[part] = f"{server.name} did not listen on {port} within {READY_WITHIN} s: {server.last_output()}"
                    else:
                        time.sleep(0.01)
        return missing

    def watch(self, standard_input, limit):
        """Waits for the end of standard input or the time limit. Reports servers that end earlier."""
        deadline = time.monotonic() + limit
        watched = {os.pidfd_open(process.pid): (server, process) for _, server, process in self.processes if process.poll() is None}
        while (remaining := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([standard_input, *watched], [], [], remaining)
            for descriptor in ready:
                if descriptor == standard_input:
                    if not os.read(standard_input, 4096):
                        return
                    continue
                server, process = watched.pop(descriptor)
                os.close(descriptor)
                print(f"serve: {server.name} ended with {process.wait()}: {server.last_output()}", file=sys.stderr, flush=True)
        print(f"serve: ended after the limit of {limit} s", file=sys.stderr)


def tail(log):
    if log is None:
        return ""
    try:
        return " / ".join(log.read_text(errors="replace").split("\n")[-6:]).strip(" /")
    except OSError:
        return ""
