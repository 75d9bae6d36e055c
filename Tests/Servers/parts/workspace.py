# SPDX-License-Identifier: Apache-2.0
"""The temporary folder, the ports and the programs of the servers."""

import fcntl
import os
import pathlib
import shutil
import socket
import stat
import tempfile

PREFIX = "portolan-servers-"
# The programs that scripts/packages.sh unpacks instead of installing a service.
UNPACKED = pathlib.Path(__file__).resolve().parents[3] / ".build" / "servers"


class Missing(Exception):
    """A program or a file is not installed."""


class Workspace:
    """The temporary folder, the ports and the files of the servers. Deletes the folder at the end. If the process is killed, the next process does it."""

    def __init__(self):
        self.endpoints = {}
        self.files = {}
        self.values = {}
        self.ipv6 = has_ipv6()
        self.authority = None
        self.site = None
        # The folder that the nginx of the benchmarks serves. None means generated files.
        self.root = None

    def __enter__(self):
        delete_abandoned_folders()
        unnamed = pathlib.Path(tempfile.mkdtemp(prefix="portolan-unnamed-"))
        # Servers that run as nobody need access. The keys in the folder are for tests only.
        unnamed.chmod(0o755)
        self.lock = open(unnamed / "lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        # The folder gets the name that `delete_abandoned_folders` looks for only after it is locked.
        self.folder = unnamed.with_name(unnamed.name.replace("portolan-unnamed-", PREFIX))
        unnamed.rename(self.folder)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def folder_for(self, name):
        """Makes a folder that the servers can write to, also if they run as nobody."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            path.chmod(0o777)
        return path

    def inaccessible_folder(self):
        """Returns the outermost folder of the workspace's path that other users cannot enter, or None."""
        folders = reversed([self.folder, *self.folder.parents])
        return next((folder for folder in folders if not folder.stat().st_mode & stat.S_IXOTH), None)

    def program(self, name):
        """Returns the path of a program."""
        path = os.pathsep.join([str(UNPACKED / "usr/sbin"), os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/usr/bin"])
        file = shutil.which(name, path=path)
        if file is None:
            raise Missing(f"{name} is not installed: run scripts/packages.sh test")
        return file

    def endpoint(self, name, scheme, ipv6=False, datagrams=False):
        """Reserves a free port for the endpoint `name`."""
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


def delete_abandoned_folders():
    """Deletes the folders of processes that were killed. Their locks are free."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        try:
            with open(folder / "lock", "r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Another process holds the lock, or another user owns the folder.
            continue


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def free_port(ipv6):
    """Returns a port in the state TIME_WAIT. The kernel does not choose such a port for other programs, but a server with SO_REUSEADDR can bind it.
    All servers of the tests set that option."""
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
