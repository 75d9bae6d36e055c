// SPDX-License-Identifier: Apache-2.0

/// The files of a new plugin in Swift, which uses the plugin kit.
struct SwiftTemplate {
    let name: PluginName
    let origin: CommandOrigin
    /// The folder of the package with the kit.
    let kit: String

    private var module: String { "\(name.title)Plugin" }
    /// The name of the handler type. It differs from the names of all types of the kit.
    private var handler: String { "\(name.title)SchemeHandler" }

    var files: [Scaffold.File] {
        [
            Scaffold.File(path: "Package.swift", text: package),
            Scaffold.File(path: "Sources/\(module)/\(handler).swift", text: source),
            Template.exports,
            Template.manifest(name, description: "\(name.scheme)://NAME greets NAME."),
            Scaffold.File(path: "Makefile", text: makefile),
            Template.testScript(
                """
                yields \(name.scheme)://world 'Hello, world!'
                yields \(name.scheme)://wide%20world 'Hello, wide world!'
                fails \(name.scheme): 3

                """),
            Scaffold.File(path: "README.md", text: readme),
        ]
    }

    private var package: String {
        #"""
        // swift-tools-version: 6.2
        import PackageDescription

        // The plugin kit of the Portolan that wrote this file. For another kit: make PORTOLAN_KIT=/path/of/PluginKit
        let kit = Context.environment["PORTOLAN_KIT"] ?? "\#(kit)"

        let package = Package(
            name: "\#(name.scheme)",
            products: [.library(name: "\#(module)", type: .dynamic, targets: ["\#(module)"])],
            dependencies: [.package(name: "portolan", path: kit)],
            targets: [
                .target(
                    name: "\#(module)",
                    dependencies: [.product(name: "PortolanPluginKit", package: "portolan")],
                    // A plugin exports one symbol. The other symbols stay in the file, so that a stack trace names functions.
                    linkerSettings: [
                        .unsafeFlags([
                            "-Xlinker", "--version-script=\(Context.packageDirectory)/exports.map", "-Xlinker", "--gc-sections",
                        ])
                    ])
            ])

        """#
    }

    private var source: String {
        #"""
        public import PortolanPluginKit

        /// Greets NAME of `\#(name.scheme)://NAME`.
        struct \#(handler): PluginHandler {
            /// The same as in the manifest.
            static let description = PluginDescription(
                identifier: "\#(name.identifier)", name: "\#(name.title)", vendor: "Example", version: "0.1.0", schemes: ["\#(name.scheme)"])

            /// Reads the settings, and throws if they are wrong: `try host.setting("name")`.
            init(host: PluginHost) throws {}

            /// Serves one load. Returning finishes the load, and throwing fails it. A stop cancels the task.
            func load(_ request: PluginRequest, client: PluginClient) async throws {
                guard let host = request.host, !host.isEmpty else {
                    throw PluginError(.badURL, message: "\#(name.scheme): no name is given; write \#(name.scheme)://world")
                }
                // Each part of a URL is percent-encoded. For the path, use request.decodedPath().
                let name = try PluginRequest.percentDecode(host)
                let text = "Hello, \(name)!\n"
                try await client.didReceive(
                    PluginResponse(mimeType: "text/plain", textEncoding: "utf-8", expectedLength: Int64(text.utf8.count)))
                if request.method != "HEAD" { try await client.didLoad(text) }
            }
        }

        /// The one symbol that the library exports.
        @_cdecl("portolan_plugin_entry") public func portolanPluginEntry(_ major: UInt32) -> PluginEntry? { \#(handler).entry(major) }

        """#
    }

    private var makefile: String {
        """
        # make: builds \(name.scheme).so beside its manifest.  make test: loads URLs through it.
        SWIFT ?= swift
        # The command that the test runs.
        PORTOLAN ?= \(origin.command)
        BUILD = $(SWIFT) build -c release --product \(module)

        # The library is copied, and then renamed: a program that has opened the old library keeps its bytes.
        \(name.scheme).so: $(wildcard Sources/*/*.swift) Package.swift exports.map Makefile
        \t$(BUILD)
        \tcp "$$($(BUILD) --show-bin-path)/lib\(module).so" .$@.new
        \tmv .$@.new $@

        \(Template.testRule(prerequisite: "\(name.scheme).so"))

        clean:
        \trm -rf .build \(name.scheme).so

        .PHONY: test clean

        """
    }

    private var readme: String {
        """
        # \(name.title)

        A Portolan plugin in Swift: `\(name.scheme)://NAME` greets NAME.

            make            # builds \(name.scheme).so; the first build also builds the plugin kit
            make test       # loads URLs through it

        It needs Swift 6.2 or later, as Portolan does.

        \(Template.readmeEnd(name, files: "\(name.scheme).so \(Template.manifestName(name))"))
        In `\(handler).swift`, `load` is one async function. It may suspend for any time, and must not block its thread.

        """
    }
}
