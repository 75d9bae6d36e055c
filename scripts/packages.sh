#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that a build needs, if their commands or files are missing.
#   scripts/packages.sh [run|install|test|memcheck|peers|bench|docs]    also those that the make target with this name needs
set -euo pipefail
cd "$(dirname "$0")/.."

# Not every user has the folders of daemons in the PATH.
PATH=$PATH:/usr/local/sbin:/usr/sbin
missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need make make
need cc gcc
need ld binutils
need git git
need sha256sum coreutils
need gzip gzip
need pkg-config pkg-config
[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
pkg-config --exists zlib 2>/dev/null || missing+=(zlib1g-dev)
pkg-config --exists libffi 2>/dev/null || missing+=(libffi-dev)
pkg-config --atleast-version=3.0 openssl 2>/dev/null || missing+=(libssl-dev)
pkg-config --exists libnghttp2 2>/dev/null || missing+=(libnghttp2-dev)
pkg-config --atleast-version=0.8 libxxhash 2>/dev/null || missing+=(libxxhash-dev)
pkg-config --atleast-version=3.37 sqlite3 2>/dev/null || missing+=(libsqlite3-dev)
# The libraries that the manifests in Plugins/ bind.
bound() {
    [ -e "/usr/lib/$(cc -print-multiarch)/libcurl.so.4" ] || missing+=(libcurl4)
    [ -e "/usr/lib/$(cc -print-multiarch)/libmagic.so.1" ] || missing+=(libmagic1)
    [ -e "/usr/lib/$(cc -print-multiarch)/libarchive.so.13" ] || missing+=(libarchive13)
    [ -e "/usr/lib/$(cc -print-multiarch)/libsqlite3.so.0" ] || missing+=(libsqlite3-0)
}
# For the tests of PortolanRedis, which are built with the tests.
hiredis() {
    [ -e /usr/include/hiredis/hiredis.h ] || missing+=(libhiredis-dev)
}
case ${1:-} in
run)
    bound
    # For the server that `make run` starts.
    [ -x /usr/bin/python3 ] || missing+=(python3)
    need openssl openssl
    ;;
install)
    # For the installed pages.
    [ -x /usr/bin/python3 ] || missing+=(python3)
    ;;
test)
    bound
    # For the header for plugins in C++.
    need c++ g++
    # The tests validate manifests and reports with these packages, too.
    /usr/bin/python3 -c 'import jsonschema' 2>/dev/null || missing+=(python3-jsonschema)
    /usr/bin/python3 -c 'import junitparser' 2>/dev/null || missing+=(python3-junitparser)
    need prove perl
    # Builds plugins in Rust. Debian's version is the oldest that the kit supports.
    need rustc rustc
    # The source of the table of public suffixes.
    [ -e /usr/share/publicsuffix/public_suffix_list.dat ] || missing+=(publicsuffix)
    # For `portolan check --sanitizer`.
    need valgrind valgrind
    /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    need curl curl
    need openssl openssl
    need nghttpd nghttp2-server
    # The package apache2 would start a service.
    need apache2 apache2-bin
    need microsocks microsocks
    # The server is a program of redis-tools. The package redis-server would start a service.
    need redis-check-rdb redis-tools
    hiredis
    # Opens the HTML pages that the commands write.
    need chromium chromium
    ;;
memcheck) need valgrind valgrind ;;
peers)
    pkg-config --exists libcurl 2>/dev/null || missing+=(libcurl4-openssl-dev)
    hiredis
    ;;
bench)
    pkg-config --exists libcurl 2>/dev/null || missing+=(libcurl4-openssl-dev)
    [ -x /usr/bin/python3 ] || missing+=(python3)
    need openssl openssl
    ;;
docs)
    [ -x /usr/bin/python3 ] || missing+=(python3)
    ;;
esac
if ! command -v swift >/dev/null 2>&1; then
    echo "swift is missing: install Swift 6.2 or later (swift.org/install), then run this again" >&2
    exit 1
fi
[ ${#missing[@]} = 0 ] || scripts/apt.sh install "${missing[@]}"

case ${1:-} in
test) scripts/servers.sh nginx squid atftpd memcached httpbin ;;
run | bench) scripts/servers.sh nginx ;;
esac
