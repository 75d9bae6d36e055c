# SPDX-License-Identifier: Apache-2.0
"""atftpd: TFTP (RFC 1350) with the options of RFC 2347 to 2349."""

import socket
import struct

from .group import Server

READ, DATA, ACKNOWLEDGEMENT = 1, 3, 4


def servers(workspace):
    program = workspace.program("atftpd")
    port = workspace.endpoint("tftp.server", "tftp", datagrams=True)
    command = [program, "--daemon", "--no-fork", "--tftpd-timeout", "0", "--bind-address", "127.0.0.1", "--port", port, "--logfile", "-", workspace.site]
    return [Server("tftp.server", command, [port], workspace.folder_for("tftp") / "tftp.log", responds=responds)]


def responds(port):
    """Reads a file of one block. The server sends each response from a new port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.2)
        try:
            client.sendto(struct.pack(">H", READ) + b"hello.txt\0octet\0", ("127.0.0.1", port))
            packet, peer = client.recvfrom(1024)
            kind, block = struct.unpack(">HH", packet[:4])
            client.sendto(struct.pack(">HH", ACKNOWLEDGEMENT, block), peer)
            return kind == DATA
        except OSError:
            return False
