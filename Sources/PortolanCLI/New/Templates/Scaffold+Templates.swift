// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanPlugins

extension Scaffold {
    /// - Throws: ``Failure`` if the headers or the kit for a plugin in this language are missing.
    init(_ name: PluginName, in language: PluginLanguage, from origin: CommandOrigin) throws(Failure) {
        let languageFiles: [File]
        switch language {
        case .c:
            guard let flags = origin.headerFlags else { throw Self.missing("C", "headers") }
            languageFiles = CTemplate(name: name, origin: origin, headerFlags: flags).files
        case .cPlusPlus:
            guard let flags = origin.headerFlags else { throw Self.missing("C++", "headers") }
            languageFiles = CPPTemplate(name: name, origin: origin, headerFlags: flags).files
        case .swift:
            guard let kit = origin.kit else { throw Self.missing("Swift", "kit") }
            languageFiles = SwiftTemplate(name: name, origin: origin, kit: kit).files
        case .rust:
            guard let kit = origin.rustKit else { throw Self.missing("Rust", "kit") }
            let template = RustTemplate(name: name, origin: origin, kit: kit)
            languageFiles = try template.ownFiles + template.kitFiles()
        case .binding: languageFiles = BindingTemplate(name: name, origin: origin).files
        }
        files =
            languageFiles + [
                // A copy of the schema, so that editors find it without a network, also after the folder was moved.
                File(path: Template.schemaName, text: PluginManifest.schema),
                File(path: ".gitignore", text: ".build/\n*.so\n"),
            ]
    }

    private static func missing(_ language: String, _ tools: String) -> Failure {
        Failure(
            .notOffered,
            """
            a plugin in \(language) is built with the \(tools) of a checkout or of an installation, and this command belongs to neither; \
            use the command of 'make build' or 'make install', in a folder whose path has no quotes, colons, '$' or '#'
            """)
    }
}

/// Parts that several templates share.
enum Template {
    static let schemaName = "plugin-manifest.schema.json"

    /// The host versions that a new plugin accepts: from this version up to the next major version.
    static var hostVersions: String { ">=\(portolanVersion) <1.0.0" }

    /// The script that loads URLs with the command and compares the results.
    ///
    /// - Parameter checks: calls of the functions of the script, one per line.
    static func testScript(_ checks: String) -> Scaffold.File {
        let text = #"""
            #!/bin/sh
            # Loads URLs through the plugin as a user does, and compares the results. 'make test' sets PORTOLAN, the command.
            set -eu
            cd "$(dirname "$0")"
            portolan=${PORTOLAN:-portolan}
            failures=0

            # yields URL TEXT: the body is TEXT and a newline
            yields() {
                got=$("$portolan" get --no-plugins --plugin . "$1") || true
                [ "$got" = "$2" ] && return
                echo "$1: expected '$2', got '$got'"
                failures=$((failures + 1))
            }

            # fails URL STATUS: the load fails with this exit status ('portolan exit-codes')
            fails() {
                status=0
                "$portolan" get --no-plugins --plugin . "$1" >/dev/null 2>&1 || status=$?
                [ "$status" = "$2" ] && return
                echo "$1: expected exit status $2, got $status"
                failures=$((failures + 1))
            }

            "$portolan" plugins validate .

            """#
        let end = #"""

            [ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
            echo "all passed"

            """#
        return Scaffold.File(path: "test.sh", text: text + checks + end, isExecutable: true)
    }

    /// The manifest of a plugin with its own library. It is JSON without comments, so that every tool can read it.
    static func manifest(_ name: PluginName, description: String) -> Scaffold.File {
        let text = """
            {
              "$schema": "./\(schemaName)",
              "identifier": "\(name.identifier)",
              "name": "\(name.title)",
              "vendor": "Example",
              "version": "0.1.0",
              "description": "\(description)",
              "library": "\(name.scheme).so",
              "schemes": ["\(name.scheme)"],
              "hostVersions": "\(hostVersions)",
              "conformance": {
                "loads": [
                  {
                    "url": "\(name.scheme)://world",
                    "mime": "text/plain",
                    "length": 14,
                    "sha256": "d9014c4624844aa5bac314773d6b689ad467fa4e1d1a50a1b8a99d5a95f72ff5",
                    "tags": ["small"]
                  },
                  { "url": "\(name.scheme):", "error": "badURL", "tags": ["fails"] }
                ]
              }
            }

            """
        return Scaffold.File(path: manifestName(name), text: text)
    }

    /// The list of exported symbols for the linker. A plugin exports one. Without the list, a library in Swift exports
    /// all of its symbols, and one in C++ those of the templates of its standard library.
    static let exports = Scaffold.File(
        path: "exports.map",
        text: """
            {
                global: portolan_plugin_entry;
                local: *;
            };

            """)

    static func manifestName(_ name: PluginName) -> String { name.scheme + PluginManifest.fileNameEnd }

    /// The Makefile rule that tests the plugin.
    ///
    /// - Parameter prerequisite: the file that make(1) builds before the test; empty for none.
    static func testRule(prerequisite: String) -> String {
        """
        test:\(prerequisite.isEmpty ? "" : " \(prerequisite)")
        \tPORTOLAN="$(PORTOLAN)" ./test.sh
        """
    }

    /// The last sections of README.md, which describe how to use, install and adapt the plugin.
    static func readmeEnd(_ name: PluginName, files: String) -> String {
        """
        ## Use it

        In this folder, if `portolan` is in the PATH (`make test` knows its path):

            portolan get --plugin . \(name.scheme)://world
            portolan check .                                   # checks the plugin against the rules of the contract
            portolan plugins watch . \(name.scheme)://world    # reloads the plugin and the URL after each build

        To use the plugin without `--plugin`, install it in a folder with its name:

            mkdir -p ~/.local/share/portolan/plugins/\(name.scheme)
            install \(files) ~/.local/share/portolan/plugins/\(name.scheme)/
            portolan plugins list

        ## Make it yours

        The identifier (`\(name.identifier)`), the vendor and the name are examples: write your own. Editors use the manifest's `$schema` to help you write it.
        After an update of Portolan, renew that file with `portolan plugins schema > \(schemaName)`. `test.sh` and the manifest's `conformance` section
        describe the results of URLs. Extend both together with the protocol.

        """
    }
}
