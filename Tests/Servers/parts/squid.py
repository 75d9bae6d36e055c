# SPDX-License-Identifier: Apache-2.0
"""squid: an open forward proxy, and two proxies that require a password, by Basic and by Digest."""

import hashlib
import os
import pathlib
import shutil
import subprocess

from .group import Server
from .workspace import UNPACKED, Missing

CONFIGURATION = """
{ports}
visible_hostname portolan.test
pid_filename none
cache deny all
cache_log {folder}/cache.log
logformat brief %ts.%03tu %>a %>lp %Ss/%03>Hs %rm %ru %[un %<st
access_log stdio:{folder}/access.log brief
buffered_logs off
strip_query_terms off
cache_store_log none
coredump_dir {folder}
shutdown_lifetime 0 seconds
client_persistent_connections on
pinger_enable off
unlinkd_program {helpers}/unlinkd
netdb_filename none
mime_table {share}/mime.conf
icon_directory {share}/icons
error_directory {share}-langpack/templates
err_page_stylesheet {folder}/none.css
{authentication}
acl known proxy_auth REQUIRED
acl at_locked myportname locked
http_access deny at_locked !known
http_access allow all
workers 1
"""
# Users for tests with wrong passwords. Squid uses the result of one check for all concurrent requests of a user, even if their passwords differ.
OTHER_USERS = ["ahab", "starbuck"]
BASIC = """
auth_param basic program {helpers}/basic_ncsa_auth {folder}/users
auth_param basic realm Strait
auth_param basic children 2 startup=1 queue-size=64
"""
# Squid accepts each nonce three times, so that clients must renew it.
DIGEST = """
auth_param digest program {helpers}/digest_file_auth -c {folder}/users
auth_param digest realm Narrows
auth_param digest children 2 startup=1 queue-size=64
auth_param digest nonce_max_count 3
"""


def servers(workspace):
    program = pathlib.Path(workspace.program("squid"))
    folder = workspace.folder_for("squid")
    root = program.parents[2]
    if root == UNPACKED and os.geteuid() == 0:
        root = copy_squid(root, folder)
        program = root / "usr/sbin/squid"
    helpers, share = root / "usr/lib/squid", root / "usr/share/squid"
    if not helpers.exists() or not share.exists():
        raise Missing(f"squid's files are not below {root}/usr: run scripts/packages.sh test")
    ports = {name: workspace.endpoint(f"squid.{name}", "http") for name in ["open", "locked", "digest"]}
    workspace.files["squid.log"] = folder / "access.log"

    def server(name, folder, lines, authentication, users, ports):
        (folder / "users").write_text(users + "\n")
        (folder / "none.css").write_text("")
        (folder / "access.log").touch()
        values = dict(folder=folder, helpers=helpers, share=share)
        (folder / "squid.conf").write_text(CONFIGURATION.format(ports=lines, authentication=authentication.format(**values), **values))
        for file in ["access.log", "users", "squid.conf"]:
            (folder / file).chmod(0o666)
        # Names squid's shared memory. Two squids that start with the same name at the same time can fail (shm_open: file exists).
        service = f"portolan{os.getpid()}{name.replace('-', '')}"
        command = [program, "-N", "-n", service, "-f", folder / "squid.conf"]
        return Server(
            name, command, ports, folder / "output.log", unprivileged=True, later_log=folder / "cache.log", shared_memory=f"{service}-*.shm")

    digest_folder = workspace.folder_for("squid-digest")
    hash = password_hash("call-me")
    secret = hashlib.md5(b"ishmael:Narrows:call-me").hexdigest()
    return [
        server("squid", folder, "http_port 127.0.0.1:{open}\nhttp_port 127.0.0.1:{locked} name=locked".format(**ports), BASIC,
               "\n".join(f"{user}:{hash}" for user in ["ishmael", *OTHER_USERS]), [ports["open"], ports["locked"]]),
        server("squid-digest", digest_folder, "http_port 127.0.0.1:{digest} name=locked".format(**ports), DIGEST,
               f"ishmael:Narrows:{secret}", [ports["digest"]]),
    ]


def copy_squid(root, folder):
    """Copies squid to the folder of the tests. It runs as nobody if `serve` runs as root, and nobody often cannot read a home folder."""
    copied_root = folder / "root"
    for part in ["usr/sbin", "usr/lib/squid", "usr/share/squid/icons", "usr/share/squid-langpack/templates"]:
        shutil.copytree(root / part, copied_root / part, symlinks=True)
    shutil.copy(root / "usr/share/squid/mime.conf", copied_root / "usr/share/squid/mime.conf")
    return copied_root


def password_hash(password):
    """Returns the hash that the helper of squid expects (crypt(3))."""
    return subprocess.run(["openssl", "passwd", "-5", password], check=True, capture_output=True, text=True).stdout.strip()
