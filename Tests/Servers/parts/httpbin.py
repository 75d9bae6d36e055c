# SPDX-License-Identifier: Apache-2.0
"""httpbin from PyPI, in the virtual environment that scripts/packages.sh makes."""

from .group import Server
from .workspace import UNPACKED, Missing


def servers(workspace):
    python = UNPACKED / "httpbin/bin/python"
    if not python.exists():
        raise Missing(f"httpbin is not installed: {missing_reason()}")
    folder = workspace.folder_for("httpbin")
    port = workspace.endpoint("httpbin.http", "http")
    command = [python, "-m", "waitress", f"--listen=127.0.0.1:{port}", "--threads=16", "--no-expose-tracebacks", "httpbin:app"]
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    return [Server("httpbin", command, [port], folder / "output.log", environment)]


def missing_reason():
    """Returns the reason why httpbin is not installed, from the log of the installation."""
    log = UNPACKED / "httpbin.log"
    if not log.exists():
        return "run scripts/packages.sh test"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"pip printed {lines[-1].strip()!r}; run scripts/packages.sh test again once PyPI can be reached" if lines else "run scripts/packages.sh test"
