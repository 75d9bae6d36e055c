# SPDX-License-Identifier: Apache-2.0
"""The processes: started together, ready together, ended together."""

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

from .place import Missing

PR_SET_PDEATHSIG = 1
READY_WITHIN = 30

libc = ctypes.CDLL(None, use_errno=True)


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


@dataclasses.dataclass
class Server:
    """One process in the foreground; where there are several, the kernel would end the first only."""

    name: str
    command: list
    ports: list
    log: pathlib.Path
    environment: dict = dataclasses.field(default_factory=dict)
    # Refuses to run as root.
    unprivileged: bool = False
    # Where it goes on once it has read its configuration.
    later_log: pathlib.Path = None
    # Whether it is ready at a port.
    answers: typing.Callable[[int], bool] = accepts

    def last_words(self):
        return tail(self.later_log) or tail(self.log) or "it said nothing"


class Group:
    def __init__(self, spot):
        self.spot = spot
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _, _, process in self.processes:
            process.kill()
        for _, _, process in self.processes:
            process.wait()

    def add(self, part, servers):
        for server in servers:
            self.processes.append((part, server, self.start(server)))

    def start(self, server):
        parent = os.getpid()

        def in_child():
            # After the change of user, which would clear it. The parent may have gone before the call.
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        account = {}
        if server.unprivileged and os.geteuid() == 0:
            shut = self.spot.shut_folder()
            if shut:
                raise Missing(f"it runs as nobody, who may not enter {shut}: 'chmod o+x {shut}', or set TMPDIR to another folder")
            account = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        with open(server.log, "ab") as log:
            return subprocess.Popen(
                [str(word) for word in server.command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.spot.folder,
                env={**os.environ, "LC_ALL": "C", **server.environment}, preexec_fn=in_child, **account)

    def wait_until_ready(self):
        """Each part that does not come up within the limit, with its reason; its other processes end."""
        missing = {}
        deadline = time.monotonic() + READY_WITHIN
        for part, server, process in self.processes:
            for port in server.ports:
                while part not in missing and not server.answers(port):
                    if process.poll() is not None:
                        missing[part] = f"{server.name} ended with {process.returncode} at its start: {server.last_words()}"
                    elif time.monotonic() > deadline:
                        missing[part] = f"{server.name} did not listen on {port} within {READY_WITHIN} s: {server.last_words()}"
                    else:
                        time.sleep(0.01)
        return missing

    def watch(self, standard_input, limit):
        """Returns when standard input ends or the time is over; says when a server ends before that."""
        deadline = time.monotonic() + limit
        watched = {os.pidfd_open(process.pid): (server, process) for _, server, process in self.processes if process.poll() is None}
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([standard_input, *watched], [], [], left)
            for descriptor in ready:
                if descriptor == standard_input:
                    if not os.read(standard_input, 4096):
                        return
                    continue
                server, process = watched.pop(descriptor)
                os.close(descriptor)
                print(f"serve: {server.name} ended with {process.wait()}: {server.last_words()}", file=sys.stderr, flush=True)
        print(f"serve: ended after the limit of {limit} s", file=sys.stderr)


def tail(log):
    if log is None:
        return ""
    try:
        return " / ".join(log.read_text(errors="replace").split("\n")[-6:]).strip(" /")
    except OSError:
        return ""
