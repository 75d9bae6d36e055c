#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the command and the plugins in FOLDER, the headers with their pkg-config file, the kits for plugins in Swift and Rust, and the pages.
#   PREFIX=/usr/local [DESTDIR=/stage] scripts/install.sh FOLDER
set -euo pipefail
[ $# = 1 ] || { echo "usage: PREFIX=/usr/local [DESTDIR=/stage] scripts/install.sh FOLDER" >&2; exit 2; }
built=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
while [ "${prefix%/}" != "$prefix" ]; do prefix=${prefix%/}; done
case $prefix in
/*[[:space:]\"\'\\\$\`\#:\(\)]*) echo "PREFIX '$prefix' contains a space, a quote or another character that pkg-config and make do not support; choose another one" >&2; exit 2 ;;
/*) ;;
*) echo "PREFIX '${PREFIX:-}' is not an absolute path below /; write for example PREFIX=/usr/local" >&2; exit 2 ;;
esac
root=${DESTDIR:-}$prefix
library=$root/lib/portolan

# put MODE FILE FOLDER: renames a copy, so that a process that has the old file open keeps its bytes.
put() {
    install -d -m 755 "$3"
    install -m "$1" "$2" "$3/.$(basename "$2").new"
    mv -f "$3/.$(basename "$2").new" "$3/$(basename "$2")"
}

# The command is installed beside its plugins, so that it finds them with any prefix. PREFIX/bin/portolan is a link to it.
put 755 "$built/portolan" "$library"
install -d -m 755 "$root/bin"
ln -sfn ../lib/portolan/portolan "$root/bin/portolan"
for plugin in "$built"/plugins/*/; do
    [ -d "$plugin" ] || continue
    for file in "$plugin"*; do put 644 "$file" "$library/plugins/$(basename "$plugin")"; done
done
for header in Sources/CPortolan/include/portolan/*.{h,hpp}; do put 644 "$header" "$root/include/portolan"; done
put 644 docs/plugin-manifest.schema.json "$root/share/portolan"
# The kits for plugins in Swift and Rust, with files instead of links. The old kit is removed first, so that no source of an older version stays.
kit=$root/share/portolan/PluginKit
rm -rf "$kit"
(cd PluginKit && find -L . -type f) | while read -r file; do put 644 "PluginKit/$file" "$kit/$(dirname "$file")"; done
# The installed pages have links only to installed files.
install -d -m 755 "$root/share/doc/portolan"
/usr/bin/python3 scripts/pages.py install "$root/share/doc/portolan"

# The service of background transfers, for users who want it to start with their session.
install -d -m 755 "$root/share/systemd/user"
cat > "$root/share/systemd/user/portolan-transferd.service" <<END
[Unit]
Description=Background transfers of Portolan

[Service]
ExecStart=$prefix/bin/portolan transferd --idle 0

[Install]
WantedBy=default.target
END
chmod 644 "$root/share/systemd/user/portolan-transferd.service"

version=$(sed -n 's/.*portolanVersion = "\([^"]*\)".*/\1/p' Sources/PortolanCore/Version.swift)
install -d -m 755 "$root/lib/pkgconfig"
cat > "$root/lib/pkgconfig/portolan.pc" <<END
prefix=$prefix
includedir=\${prefix}/include
pluginsdir=\${prefix}/lib/portolan/plugins

Name: Portolan
Description: The contract of plugins that load URLs
Version: $version
Cflags: -I\${includedir}
END
chmod 644 "$root/lib/pkgconfig/portolan.pc"
echo "installed Portolan $version in $root"
