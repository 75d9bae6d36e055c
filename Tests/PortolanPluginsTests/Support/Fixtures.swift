// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import PortolanCore
import PortolanPlugins

/// The plugin libraries that `make` compiles from Tests/PluginFixtures and Plugins/Template.
enum Fixtures {
    /// `PORTOLAN_FIXTURES` in the environment, or else `.build/fixtures` of the package.
    static let folder = ProcessInfo.processInfo.environment["PORTOLAN_FIXTURES"] ?? "\(package)/.build/fixtures"

    /// The package's folder, located relative to this file.
    static let package: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(4)
        return parts.joined(separator: "/")
    }()

    static func path(_ name: String) -> String { "\(folder)/\(name).so" }

    /// Opens the library of a fixture.
    static func plugin(
        _ name: String, _ configuration: PluginConfiguration = PluginConfiguration(), threads: LoadThreadPool = .shared,
        logger: Logger = Logger(label: "tests")
    ) throws(LoadError) -> Plugin {
        try Plugin(contentsOf: path(name), configuration: configuration, threads: threads, logger: logger)
    }

    /// Makes a copy of a library with other bytes at `offset`, and returns its path.
    static func copyWithChangedBytes(_ name: String, at offset: Int, to bytes: [UInt8]) throws -> String {
        var contents = try Data(contentsOf: URL(filePath: path(name)))
        contents.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        let copy = "\(folder)/altered-\(UInt64.random(in: 0 ... .max)).so"
        try contents.write(to: URL(filePath: copy))
        return copy
    }
}
