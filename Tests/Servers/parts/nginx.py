# SPDX-License-Identifier: Apache-2.0
"""nginx: one process with many ports, and another process for the benchmarks."""

from .group import Server
from .site import make_sparse_file

# One process. With a master process, the workers would survive a kill of the master.
HEAD = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log {level};
events {{ worker_connections 16384; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
"""

# One line for each request, so that tests can check the received requests and their connections.
LOG = """
    log_format portolan escape=json '{{"port":$server_port,"method":"$request_method","target":"$request_uri","protocol":"$server_protocol",'
        '"status":$status,"connection":$connection,"requests":$connection_requests,"received":$request_length,"sent":$bytes_sent,"completion":"$request_completion"}}';
    access_log {folder}/access.log portolan;
    types {{ text/html html; text/plain txt; application/octet-stream bin; }}
    default_type application/octet-stream;
    server_names_hash_bucket_size 128;
    client_max_body_size 0;
    absolute_redirect off;
    gzip on;
    gzip_min_length 100;
    gzip_types text/plain;
    gzip_vary on;
    ssl_certificate {certificates}/good.pem;
    ssl_certificate_key {certificates}/good.key;
    ssl_session_cache shared:all:1m;
    ssl_protocols TLSv1.2 TLSv1.3;
"""

ECHO = r"""
            default_type text/plain;
            return 200 "method=$request_method\ntarget=$request_uri\nprotocol=$server_protocol\nhost=$http_host\nconnection=$connection\nrequests=$connection_requests\ntls=$ssl_protocol\nalpn=$ssl_alpn_protocol\nname=$ssl_server_name\nresumed=$ssl_session_reused\nclient=$ssl_client_verify\nsubject=$ssl_client_s_dn\naccept-encoding=$http_accept_encoding\nuser-agent=$http_user_agent\nauthorization=$http_authorization\ncookie=$http_cookie\nrange=$http_range\nexpect=$http_expect\n";
"""

LOCATIONS = """
        root {site};
        location = /echo {{ {echo} }}
        location = /sink {{ return 200 "taken\\n"; }}
        location = /consume {{ proxy_pass http://127.0.0.1:{http}/sink; proxy_http_version 1.1; }}
        location /limited/ {{ client_max_body_size 1k; root {site}/uploads; dav_methods PUT; }}
        location /uploads/ {{ dav_methods PUT DELETE; create_full_put_path on; }}
        location = /strict.txt {{ return 200 "strict\\n"; add_header Strict-Transport-Security "max-age=1000; includeSubDomains"; }}
        location /private/ {{ auth_basic "Harbour"; auth_basic_user_file {folder}/users; }}
        location /quay/ {{ alias {site}/private/; auth_basic "Quay"; auth_basic_user_file {folder}/users; }}
        location /chunked/ {{ alias {site}/; gzip off; ssi on; ssi_types *; }}
        location /trailers/ {{ alias {site}/; gzip off; add_trailer X-Checksum abc; add_trailer X-Status "$status"; }}
        location /slow/ {{ alias {site}/; gzip off; limit_rate $arg_rate; }}
        location /pressed/ {{ alias {site}/pressed/; gzip_static always; }}
        location /closing/ {{ alias {site}/; keepalive_timeout 0; }}
        location = /cookies {{ add_header Set-Cookie "a=1; Path=/"; add_header Set-Cookie "b=2; Path=/; HttpOnly"; return 200 "baked\\n"; }}
        location = /hangup {{ return 444; }}
        location = /parts {{ default_type "multipart/x-mixed-replace; boundary=frame"; }}
        location /coded/ {{ gzip off; {codings} }}
        location = /redirect/relative {{ return 302 ../echo; }}
        location = /redirect/loop {{ return 302 /redirect/loop; }}
        location = /redirect/to {{ return 302 $arg_url; }}
        location ~ ^/redirect/(?<code>301|302|303|307|308)$ {{ rewrite ^ /redirecting/$code last; }}
{redirects}
{statuses}
"""

REDIRECTS = [301, 302, 303, 307, 308]
STATUSES = [201, 202, 204, 205, 304, 400, 403, 404, 405, 408, 409, 410, 413, 416, 418, 421, 425, 429, 500, 501, 502, 503, 504, 599]
CODINGS = {
    "gzip": "gzip", "x-gzip": "x-gzip", "members": "gzip", "deflate": "deflate", "raw-deflate": "deflate", "twice": "deflate, gzip",
    "unknown": "zebra", "cut": "gzip", "bomb": "gzip",
}

# Endpoint over TLS, whether it offers HTTP/2, and further directives of its server block.
TLS_ENDPOINTS = [
    ("nginx.https", True, ""),
    ("nginx.https1", False, ""),
    ("nginx.expired", True, "ssl_certificate {c}/expired.pem; ssl_certificate_key {c}/expired.key;"),
    ("nginx.notYetValid", True, "ssl_certificate {c}/not-yet-valid.pem; ssl_certificate_key {c}/not-yet-valid.key;"),
    ("nginx.wrongName", True, "ssl_certificate {c}/wrong-name.pem; ssl_certificate_key {c}/wrong-name.key;"),
    ("nginx.selfSigned", True, "ssl_certificate {c}/self-signed.pem; ssl_certificate_key {c}/self-signed.key;"),
    ("nginx.untrusted", True, "ssl_certificate {c}/untrusted.pem; ssl_certificate_key {c}/untrusted.key;"),
    ("nginx.intermediate", True, "ssl_certificate {c}/chain.pem; ssl_certificate_key {c}/by-intermediate.key;"),
    ("nginx.incompleteChain", True, "ssl_certificate {c}/by-intermediate.pem; ssl_certificate_key {c}/by-intermediate.key;"),
    ("nginx.clientOptional", True, "ssl_client_certificate {c}/client-ca.pem; ssl_verify_client optional;"),
    ("nginx.clientRequired", True, "ssl_client_certificate {c}/client-ca.pem; ssl_verify_client on;"),
    ("nginx.tls12", True, "ssl_protocols TLSv1.2;"),
    ("nginx.tls13", True, "ssl_protocols TLSv1.3;"),
    ("nginx.reusedThrice", True, "keepalive_requests 3;"),
]


def servers(workspace):
    program = workspace.program("nginx")
    folder = workspace.folder_for("nginx")
    certificates = workspace.authority.folder
    (folder / "users").write_text("ishmael:{PLAIN}call-me\n")
    pressed = workspace.site / "pressed"
    pressed.mkdir(exist_ok=True)
    (pressed / "page.html.gz").write_bytes((workspace.site / "coded" / "gzip").read_bytes())

    http = workspace.endpoint("nginx.http", "http", ipv6=True)
    locations = LOCATIONS.format(
        site=workspace.site, folder=folder, echo=ECHO, http=http, codings=coded_locations(), redirects=redirects(), statuses=statuses())
    blocks = [
        server_block(workspace, "nginx.http", http, "", "", locations),
        server_block(workspace, "nginx.http2", workspace.endpoint("nginx.http2", "http"), "http2", "", locations),
        server_block(workspace, "nginx.http2Tenth", workspace.endpoint("nginx.http2Tenth", "http"), "http2", "keepalive_requests 10;", locations),
        server_block(workspace, "nginx.brief", workspace.endpoint("nginx.brief", "http"), "", "keepalive_requests 3; keepalive_timeout 1s;", locations),
    ]
    for name, http2, directives in TLS_ENDPOINTS:
        port = workspace.endpoint(name, "https", ipv6=True)
        blocks.append(server_block(workspace, name, port, "ssl http2" if http2 else "ssl", directives.format(c=certificates), locations))

    head = HEAD + LOG
    configuration = head.format(folder=folder, certificates=certificates, level="info") + "\n".join(blocks) + "}\n"
    workspace.files["nginx.log"] = folder / "access.log"
    workspace.values.update({"user": "ishmael", "password": "call-me"})
    (folder / "access.log").touch()
    ports = [value["port"] for name, value in workspace.endpoints.items() if name.startswith("nginx.")]
    return [make_server(program, "nginx", folder, configuration, ports)]


def server_block(workspace, name, port, protocol, directives, locations):
    listen = f"listen 127.0.0.1:{port} {protocol};"
    if workspace.endpoints[name]["ipv6"]:
        listen += f" listen [::1]:{port} ipv6only=on {protocol};"
    return f"    server {{ {listen} {directives}\n{locations}    }}\n"


def coded_locations():
    return " ".join(
        f'location = /coded/{name} {{ default_type text/plain; add_header Content-Encoding "{coding}"; }}' for name, coding in CODINGS.items())


def redirects():
    return "\n".join(f"        location = /redirecting/{code} {{ internal; return {code} /echo; }}" for code in REDIRECTS)


def statuses():
    return "\n".join(f'        location = /status/{code} {{ return {code} "{code}\\n"; }}' for code in STATUSES)


def bench_servers(workspace):
    """Makes the servers of the benchmarks, in the fastest configuration: without a log, compression or limits for connections. They send files by
    sendfile(2), and NAME.gz to clients that accept gzip."""
    program = workspace.program("nginx")
    folder = workspace.folder_for("bench")
    root = workspace.root or make_bench_files(workspace.folder_for("bench-files"))
    http, https = workspace.endpoint("bench.http", "http"), workspace.endpoint("bench.https", "https")
    configuration = HEAD.format(folder=folder, level="error") + f"""
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    open_file_cache max=16;
    gzip_static on;
    default_type application/octet-stream;
    client_max_body_size 0;
    ssl_certificate {workspace.authority.folder}/good.pem;
    ssl_certificate_key {workspace.authority.folder}/good.key;
    root {root};
    location_placeholder
}}
"""
    # The same files, as a cache may store them: without a validation for a day, only with one, or not at all.
    directives = {"fresh": "max-age=86400", "validated": "no-cache", "unstored": "no-store"}
    server = "location = /sink { return 204; } " + " ".join(
        f'location /{name}/ {{ alias {root}/; add_header Cache-Control "{value}"; }}' for name, value in directives.items())
    configuration = configuration.replace(
        "location_placeholder",
        f"server {{ listen 127.0.0.1:{http}; {server} }} server {{ listen 127.0.0.1:{https} ssl http2; http2_max_concurrent_streams 1024; {server} }}")
    return [make_server(program, "bench", folder, configuration, [http, https])]


def make_bench_files(root):
    (root / "1KiB").write_bytes(bytes(1024))
    (root / "64KiB").write_bytes(bytes(65536))
    (root / "1MiB").write_bytes(bytes(1 << 20))
    make_sparse_file(root / "1GiB", 1 << 30)
    return root


def make_server(program, name, folder, configuration, ports):
    path = folder / "nginx.conf"
    path.write_text(configuration)
    # Without -e, nginx would write its first messages to a log of the system.
    return Server(name, [program, "-e", folder / "error.log", "-p", folder, "-c", path], ports, folder / "error.log")
