# SPDX-License-Identifier: Apache-2.0
"""Where the servers live: a folder of their own, ports of their own, and the programs themselves."""

import fcntl
import os
import pathlib
import shutil
import socket
import stat
import tempfile

PREFIX = "portolan-servers-"
# What scripts/packages.sh unpacks, for it installs no service.
UNPACKED = pathlib.Path(__file__).resolve().parents[3] / ".build" / "servers"


class Missing(Exception):
    """A program that is not there."""


class Place:
    """The folder goes when this ends; what a killed predecessor left goes when the next one starts, for nobody holds its lock."""

    def __init__(self):
        self.endpoints = {}
        self.files = {}
        self.values = {}
        self.ipv6 = has_ipv6()
        self.authority = None
        self.site = None
        # What the benchmarks' nginx serves, where it is not its own files.
        self.root = None

    def __enter__(self):
        sweep()
        making = pathlib.Path(tempfile.mkdtemp(prefix="portolan-making-"))
        # A server that drops root's rights has to come in; the keys in here are worth nothing elsewhere.
        making.chmod(0o755)
        self.lock = open(making / "lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        # It gets the name by which others sweep once they can see that somebody holds it.
        self.folder = making.with_name(making.name.replace("portolan-making-", PREFIX))
        making.rename(self.folder)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def folder_for(self, name):
        """Writable for the user that the servers run as where this one is root."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            path.chmod(0o777)
        return path

    def shut_folder(self):
        """The outermost folder on the way here that other users may not enter."""
        folders = reversed([self.folder, *self.folder.parents])
        return next((folder for folder in folders if not folder.stat().st_mode & stat.S_IXOTH), None)

    def program(self, name):
        path = os.pathsep.join([str(UNPACKED / "usr/sbin"), os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/usr/bin"])
        found = shutil.which(name, path=path)
        if found is None:
            raise Missing(f"{name} is not installed: run scripts/packages.sh test")
        return found

    def endpoint(self, name, scheme, ipv6=False, datagrams=False):
        """A port that nobody has, known by `name` from now on."""
        ipv6 = ipv6 and self.ipv6
        port = free_datagram_port() if datagrams else free_port(ipv6)
        self.endpoints[name] = {"scheme": scheme, "port": port, "ipv6": ipv6}
        return port

    def description(self, missing):
        files = {**self.authority.files, **self.files}
        return {
            "folder": str(self.folder),
            "endpoints": {name: value for name, value in self.endpoints.items() if name.split(".")[0] not in missing},
            "files": {name: str(path) for name, path in files.items()},
            "values": {**self.authority.values, **self.values},
            "missing": missing,
        }


def sweep():
    for folder in pathlib.Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        try:
            with open(folder / "lock", "r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Held, or somebody else's.
            continue


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def free_port(ipv6):
    """The kernel gives a port; a connection that its server closed first leaves it in TIME_WAIT, in which the kernel gives it to nobody else,
    while a server that sets SO_REUSEADDR, as each here does, may bind it."""
    while True:
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            port = listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)) as client:
                accepted, _ = listener.accept()
                accepted.close()
                client.recv(1)
        if not ipv6 or can_bind_ipv6(port):
            return port


def free_datagram_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def can_bind_ipv6(port):
    with socket.socket(socket.AF_INET6) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            probe.bind(("::1", port))
            return True
        except OSError:
            return False
