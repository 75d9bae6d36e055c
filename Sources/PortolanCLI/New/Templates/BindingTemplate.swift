// SPDX-License-Identifier: Apache-2.0

/// The files of a new plugin without code: a manifest that binds zlib, which every Debian system has.
struct BindingTemplate {
    let name: PluginName
    let origin: CommandOrigin

    var files: [Scaffold.File] {
        [
            Scaffold.File(path: Template.manifestName(name), text: manifest),
            Scaffold.File(path: "Makefile", text: makefile),
            Template.testScript(
                """
                yields \(name.scheme)://world 'crc32 of world: 980881731'
                fails \(name.scheme): 3

                """),
            Scaffold.File(path: "README.md", text: readme),
        ]
    }

    private var manifest: String {
        """
        {
          // \(name.scheme)://TEXT returns the CRC-32 of TEXT, from the system's zlib. This is JSON5: comments and trailing commas are allowed.
          "$schema": "./\(Template.schemaName)",
          "identifier": "\(name.identifier)",
          "name": "\(name.title)",
          "vendor": "Example",
          "version": "0.1.0",
          "description": "\(name.scheme)://TEXT returns the CRC-32 of TEXT.",
          "library": "libz.so.1",
          "schemes": ["\(name.scheme)"],
          "hostVersions": "\(Template.hostVersions)",
          "binding": {
            "library": "system",
            "functions": {
              // uLong crc32(uLong crc, const Bytef *buf, uInt len). Nothing can check that this signature is right.
              "crc32": "ulong (ulong, bytes data[n], uint n)",
            },
            "error": { "code": "ioFailed" },
            // The steps of each load, in this order. A step's "result" is a name that later steps can use.
            "steps": [
              {
                "require": { "value": "{url.host|}", "differsFrom": "" },
                "error": { "code": "badURL", "message": "'{url}' contains no text; write \(name.scheme)://world" },
              },
              { "call": "crc32", "with": [0, "{url.host.decoded|}"], "result": "sum" },
              { "respond": { "mime": "text/plain;charset=utf-8" } },
              { "deliver": "crc32 of {url.host.decoded|}: {sum}\\n" },
            ],
          },
          "conformance": {
            "loads": [
              {
                "url": "\(name.scheme)://world",
                "mime": "text/plain",
                "length": 26,
                "sha256": "5a81240acc9e2fc36952be7e0e00d01c624c4286942ffdfab2ed31d70eb82459",
                "tags": ["small"],
              },
              { "url": "\(name.scheme):", "error": "badURL", "tags": ["fails"] },
            ],
          },
        }

        """
    }

    private var makefile: String {
        """
        # make: checks the manifest, and that the library has the functions that the manifest names; there is nothing to build.  make test: loads URLs.
        # The portolan command that both targets run.
        PORTOLAN ?= \(origin.command)

        validate:
        \t"$(PORTOLAN)" plugins validate .

        \(Template.testRule(prerequisite: ""))

        .PHONY: validate test

        """
    }

    private var readme: String {
        """
        # \(name.title)

        A C library as a protocol, without code: `\(name.scheme)://TEXT` returns the CRC-32 of TEXT, from the system's zlib.

            make            # checks the manifest, and that the library has the functions that the manifest names
            make test       # loads URLs through the library

        \(Template.readmeEnd(name, files: Template.manifestName(name)))
        Name your library in the outer `library` (`binding.library` only says that it is a system library), its functions with their C signatures in `functions`, and what a load does in `steps`. Take the signatures from the
        library's header: the library itself contains no types, so nothing can check them.

        """
    }
}
