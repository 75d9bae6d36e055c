// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

/// The origin of the running command. A new plugin is built with the headers and the kit of that origin.
struct CommandOrigin: Equatable {
    enum Source: Equatable {
        /// Built in this checkout.
        case checkout(String)
        /// Installed below this folder, together with the headers.
        case installed(prefix: String)
        /// Neither a checkout nor an installation was found.
        case elsewhere
    }

    let source: Source
    /// The path or the name by which a Makefile runs the command.
    let command: String

    /// The folder of the package for plugins in Swift, in the checkout or the installation; `nil` if there is none.
    var kit: String? { kitFolder.flatMap { Self.isFile("\($0)/Package.swift") ? $0 : nil } }

    /// The folder of the files for plugins in Rust; `nil` if there is none.
    var rustKit: String? { kitFolder.flatMap { Self.isFile("\($0)/Rust/mod.rs") ? "\($0)/Rust" : nil } }

    /// The folder of the kits, which possibly does not exist.
    private var kitFolder: String? {
        switch source {
        case .checkout(let checkout): "\(checkout)/PluginKit"
        case .installed(let prefix): "\(prefix)/share/portolan/PluginKit"
        case .elsewhere: nil
        }
    }

    /// The compiler flags for the headers, as text for a Makefile; `nil` if there are no headers.
    var headerFlags: String? {
        switch source {
        case .checkout(let folder): "-I'\(folder)/Sources/CPortolan/include'"
        case .installed(let prefix): #"$(shell PKG_CONFIG_PATH="$$PKG_CONFIG_PATH:\#(prefix)/lib/pkgconfig" pkg-config --cflags portolan)"#
        case .elsewhere: nil
        }
    }

    static var current: Self { Self(executable: FileSystem.resolved("/proc/self/exe")) }

    /// - Parameter executable: the path without symbolic links; `nil` if it is unknown.
    init(executable: String?) {
        guard let executable, Self.isPlain(executable) else {
            (source, command) = (.elsewhere, "portolan")
            return
        }
        let folders = Self.foldersAbove(executable)
        if let checkout = folders.first(where: Self.isCheckout) {
            (source, command) = (.checkout(checkout), executable)
        } else if let prefix = folders.first(where: { Self.isFile("\($0)/include/\(Self.header)") }) {
            // `PREFIX/bin/portolan` is a link to the executable.
            (source, command) = (.installed(prefix: prefix), "\(prefix)/bin/portolan")
        } else {
            (source, command) = (.elsewhere, executable)
        }
    }

    private static let header = "portolan/portolan.h"

    private static func isCheckout(_ folder: String) -> Bool {
        isFile("\(folder)/Package.swift") && isFile("\(folder)/Sources/CPortolan/include/\(header)")
    }

    private static func isFile(_ path: String) -> Bool {
        if case .regular = FileSystem.kind(at: path) { true } else { false }
    }

    /// Returns the folders above the path, nearest first.
    private static func foldersAbove(_ path: String) -> [String] {
        var folders: [String] = []
        var rest = path[...]
        while let slash = rest.lastIndex(of: "/") {
            rest = rest[..<slash]
            folders.append(String(rest))
        }
        return folders
    }

    /// Whether the path needs no escapes in a Makefile, in shell quotes and in a Swift string.
    private static func isPlain(_ path: String) -> Bool {
        path.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && !"\"'\\$`#:()".unicodeScalars.contains($0) }
    }
}
