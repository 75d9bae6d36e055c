# SPDX-License-Identifier: Apache-2.0
"""Makes certificates: a trusted and an untrusted authority, and valid and invalid certificates of servers and clients."""

import datetime
import subprocess

from .workspace import Missing

# The names of a valid certificate.
VALID_NAMES = "DNS:localhost,DNS:portolan.test,DNS:*.wild.portolan.test,IP:127.0.0.1,IP:::1"
PASSWORD = "open sesame"

CONFIGURATION = """
[ca]
default_ca = authority
[authority]
database = {folder}/index.txt
rand_serial = yes
new_certs_dir = {folder}
unique_subject = no
default_md = sha256
policy = anything
[anything]
commonName = supplied
[request]
distinguished_name = empty
[empty]
[root]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[intermediate]
basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[server]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = ${{ENV::NAMES}}
[client]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


class Authority:
    """Makes the certificates NAME.pem and the keys NAME.key (PKCS #8). The keys are on P-256, because openssl makes them quickly."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        (folder / "index.txt").touch()
        (folder / "openssl.cnf").write_text(CONFIGURATION.format(folder=folder))
        self.now = datetime.datetime.now(datetime.timezone.utc)
        self.make_authorities()
        self.make_server_certificates()
        self.make_client_certificates()
        self.files = {
            "ca": self.certificate("ca"),
            "unknownCA": self.certificate("unknown-ca"),
            "good": self.certificate("good"),
            "clientCertificate": self.certificate("client"),
            "clientKey": self.key("client"),
            "clientEncryptedKey": folder / "client-encrypted.key",
            "clientPKCS12": folder / "client.p12",
            "refusedCertificate": self.certificate("refused"),
            "refusedKey": self.key("refused"),
        }
        self.values = {"clientKeyPassword": PASSWORD}

    def certificate(self, name):
        return self.folder / f"{name}.pem"

    def key(self, name):
        return self.folder / f"{name}.key"

    def make_authorities(self):
        self.issue("ca", "Portolan Test Authority", "root")
        self.issue("unknown-ca", "Unknown Authority", "root")
        self.issue("client-ca", "Client Authority", "root")
        self.issue("intermediate", "Intermediate Authority", "intermediate", issuer="ca")

    def make_server_certificates(self):
        day = datetime.timedelta(days=1)
        self.issue("good", "localhost", "server", issuer="ca")
        self.issue("expired", "localhost", "server", issuer="ca", start=-30 * day, end=-day)
        self.issue("not-yet-valid", "localhost", "server", issuer="ca", start=day, end=30 * day)
        self.issue("wrong-name", "elsewhere.test", "server", issuer="ca", names="DNS:elsewhere.test")
        self.issue("self-signed", "localhost", "server")
        self.issue("untrusted", "localhost", "server", issuer="unknown-ca")
        self.issue("by-intermediate", "localhost", "server", issuer="intermediate")
        chain = self.certificate("by-intermediate").read_text() + self.certificate("intermediate").read_text()
        self.certificate("chain").write_text(chain)

    def make_client_certificates(self):
        self.issue("client", "A client", "client", issuer="client-ca")
        self.issue("refused", "Another client", "client", issuer="unknown-ca")
        key, certificate = self.key("client"), self.certificate("client")
        self.openssl("pkcs8", "-topk8", "-in", key, "-out", self.folder / "client-encrypted.key", "-passout", f"pass:{PASSWORD}")
        self.openssl(
            "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", self.folder / "client.p12", "-passout", f"pass:{PASSWORD}")

    def issue(self, name, common_name, extensions, issuer=None, names=VALID_NAMES, start=datetime.timedelta(hours=-1), end=datetime.timedelta(days=7)):
        request = self.folder / f"{name}.csr"
        self.openssl(
            "req", "-new", "-config", self.folder / "openssl.cnf", "-section", "request", "-subj", f"/CN={common_name}", "-newkey", "ec",
            "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key(name), "-out", request)
        signer = ["-selfsign", "-keyfile", self.key(name)]
        if issuer:
            signer = ["-cert", self.certificate(issuer), "-keyfile", self.key(issuer)]
        self.openssl(
            "ca", "-batch", "-notext", "-config", self.folder / "openssl.cnf", "-extensions", extensions, "-in", request, "-out",
            self.certificate(name), "-startdate", self.time(start), "-enddate", self.time(end), *signer, names=names)
        # openssl makes keys that only their owner can read, but servers that run as nobody read them too.
        self.key(name).chmod(0o644)

    def time(self, offset):
        return (self.now + offset).strftime("%Y%m%d%H%M%SZ")

    def openssl(self, *words, names=VALID_NAMES):
        try:
            subprocess.run(
                ["openssl", *map(str, words)], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={"NAMES": names, "PATH": "/usr/local/bin:/usr/bin:/bin"})
        except FileNotFoundError:
            raise Missing("openssl is not installed: run scripts/packages.sh test") from None
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"serve: openssl {words[0]} failed: {error.stderr.strip()}") from None
