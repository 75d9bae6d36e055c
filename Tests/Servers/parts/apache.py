# SPDX-License-Identifier: Apache-2.0
"""Apache: another implementation of HTTP/1.1 and HTTP/2, with digest authentication, CGI programs, and client certificates that TLS refuses."""

import hashlib
import pathlib

from .group import Server
from .workspace import Missing

MODULES = [
    "mpm_event", "unixd", "authn_core", "authn_file", "authz_core", "authz_user", "authz_host", "auth_basic", "auth_digest", "mime", "headers", "env", "setenvif",
    "alias", "deflate", "filter", "cgi", "asis", "dir", "ssl", "http2",
]
FOLDERS = ["/usr/lib/apache2/modules", "/usr/libexec/apache2", "/usr/lib64/httpd/modules"]

CONFIGURATION = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/pid
DefaultRuntimeDir {folder}
Mutex sem
ErrorLog {folder}/error.log
LogLevel warn
{modules}
LogFormat "%p %m %U %H %>s %I %O" brief
TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
StartServers 1
ThreadsPerChild 32
MaxRequestWorkers 32
MaxKeepAliveRequests 0
KeepAliveTimeout 60
{listen}
SSLSessionCache none
DocumentRoot {site}
<Directory />
    Require all granted
    Options +Indexes
</Directory>
<Directory {programs}>
    Options +ExecCGI
    SetHandler cgi-script
</Directory>
ScriptAlias /programs/ {programs}/
Alias /private/ {site}/private/
<Location /private/>
    AuthType Digest
    AuthName Harbour
    AuthDigestDomain /private/
    AuthUserFile {folder}/digests
    Require valid-user
</Location>
<Location /page.html>
    SetOutputFilter DEFLATE
</Location>
<Location /hints>
    H2PushResource /hello.txt
    Header add Link "</hello.txt>;rel=preload"
</Location>
Alias /hints {site}/page.html
<VirtualHost 127.0.0.1:{http}>
    Protocols h2c http/1.1
</VirtualHost>
<VirtualHost 127.0.0.1:{https}>
    {secure}
    Protocols h2 http/1.1
    H2EarlyHints on
</VirtualHost>
<VirtualHost 127.0.0.1:{client}>
    {secure}
    SSLVerifyClient require
    SSLCACertificateFile {certificates}/client-ca.pem
</VirtualHost>
"""

PROGRAMS = {
    # Sends no length, so Apache sends chunks over HTTP/1.1.
    "chunks": "printf 'Content-Type: text/plain\\r\\n\\r\\n'\nfor part in one two three; do echo $part; done\n",
    "environment": "printf 'Content-Type: text/plain\\r\\n\\r\\n'\nenv | sort\n",
    "mirror": "printf 'Content-Type: application/octet-stream\\r\\n\\r\\n'\nexec cat\n",
}


def servers(workspace):
    program = workspace.program("apache2")
    folder = workspace.folder_for("apache")
    programs = folder / "programs"
    make_programs(programs)
    (folder / "digests").write_text(digest_line("ishmael", "Harbour", "call-me"))
    ports = {name: workspace.endpoint(f"apache.{name}", scheme) for name, scheme in [("http", "http"), ("https", "https"), ("clientRequired", "https")]}
    certificates = workspace.authority.folder
    configuration = CONFIGURATION.format(
        folder=folder, site=workspace.site, programs=programs, certificates=certificates, modules=load_modules(),
        http=ports["http"], https=ports["https"], client=ports["clientRequired"],
        listen="\n".join(f"Listen 127.0.0.1:{port}" for port in ports.values()),
        secure=f"SSLEngine on\n    SSLCertificateFile {certificates}/good.pem\n    SSLCertificateKeyFile {certificates}/good.key")
    (folder / "apache.conf").write_text(configuration)
    # -X: one process. Apache refuses to run as root.
    command = [program, "-X", "-f", folder / "apache.conf"]
    return [Server("apache", command, list(ports.values()), folder / "output.log", unprivileged=True, later_log=folder / "error.log")]


def load_modules():
    """Returns the LoadModule directives of the installed modules."""
    folder = next((path for path in map(pathlib.Path, FOLDERS) if (path / "mod_ssl.so").exists()), None)
    if folder is None:
        raise Missing("apache2's modules are not installed: run scripts/packages.sh test")
    installed_modules = [name for name in MODULES if (folder / f"mod_{name}.so").exists()]
    return "\n".join(f"LoadModule {name}_module {folder}/mod_{name}.so" for name in installed_modules)


def make_programs(folder):
    folder.mkdir()
    for name, script in PROGRAMS.items():
        (folder / name).write_text("#!/bin/sh\n" + script)
        (folder / name).chmod(0o755)


def digest_line(user, realm, password):
    """Returns a line of the password file for digest authentication (htdigest(1))."""
    secret = hashlib.md5(f"{user}:{realm}:{password}".encode()).hexdigest()
    return f"{user}:{realm}:{secret}\n"
