#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts servers that the tests start into .build/servers, where the machine does not have them.
#   scripts/servers.sh [nginx] [squid] [atftpd] [httpbin]
# The packages of nginx, squid and atftpd would start a service, now and whenever the machine starts: they are unpacked, not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
here=.build/servers
PATH=$PATH:/usr/local/sbin:/usr/sbin

daemon() { # name package…
    local name=$1
    shift
    command -v "$name" >/dev/null 2>&1 || [ -x "$here/usr/sbin/$name" ] || scripts/apt.sh unpack "$here" "$@"
    [ -x "$here/usr/sbin/$name" ] || return 0
    # Libraries start nothing. Those of Perl are for helpers that nobody uses here.
    if ldd "$here/usr/sbin/$name" | grep -q 'not found'; then
        local library libraries=()
        for library in $(apt-cache show --no-all-versions "$name" | sed -n 's/^Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/[ (|].*//'); do
            case $library in
            *-perl) ;;
            lib*) dpkg-query -W -f '${db:Status-Status}' "$library" 2>/dev/null | grep -qx installed || libraries+=("$library") ;;
            esac
        done
        scripts/apt.sh install "${libraries[@]}"
    fi
}

# What pip says is kept for the tests that miss it; the others need no network.
httpbin() {
    local wanted=Tests/Servers/requirements.txt
    cmp -s "$wanted" "$here/httpbin/requirements.txt" && return 0
    echo "installing httpbin from PyPI"
    rm -rf "$here/httpbin"
    mkdir -p "$here"
    if /usr/bin/python3 -m venv "$here/httpbin" >"$here/httpbin.log" 2>&1 &&
        "$here/httpbin/bin/pip" install --disable-pip-version-check --no-input --no-compile --retries 2 --timeout 30 -r "$wanted" >>"$here/httpbin.log" 2>&1; then
        cp "$wanted" "$here/httpbin/requirements.txt"
    else
        rm -rf "$here/httpbin"
        echo "httpbin could not be installed, and its tests will fail: $(tail -n 1 "$here/httpbin.log")" >&2
    fi
}

for name; do
    case $name in
    nginx) daemon nginx nginx ;;
    squid) daemon squid squid squid-common squid-langpack ;;
    atftpd) daemon atftpd atftpd ;;
    httpbin) httpbin ;;
    esac
done
