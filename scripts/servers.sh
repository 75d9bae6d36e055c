#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs servers for the tests in .build/servers, if the machine does not have them.
#   scripts/servers.sh [nginx] [squid] [atftpd] [memcached] [httpbin]
# The packages of all but httpbin are unpacked and not installed, because they would start a service.
set -euo pipefail
cd "$(dirname "$0")/.."
here=.build/servers
PATH=$PATH:/usr/local/sbin:/usr/sbin

daemon() { # name package…
    local name=$1
    shift
    local folder=$here/usr/sbin
    [ "$name" != memcached ] || folder=$here/usr/bin
    command -v "$name" >/dev/null 2>&1 || [ -x "$folder/$name" ] || scripts/apt.sh unpack "$here" "$@"
    [ -x "$folder/$name" ] || return 0
    # The libraries can be installed, because they start no service. Those of Perl are for helper programs that the tests do not use.
    if ldd "$folder/$name" | grep -q 'not found'; then
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

# A failure is not an error here: the output of pip is stored, and the tests that need httpbin report it. All other tests need no network.
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
    memcached) daemon memcached memcached ;;
    httpbin) httpbin ;;
    esac
done
