// SPDX-License-Identifier: Apache-2.0

public import PortolanPlugins

/// What is judged: a plugin library, and the manifest that tells of it.
public struct Subject: Sendable {
    /// The library's path.
    public let library: String
    /// `nil` for a library that was named alone: then no URL is known that could be loaded.
    public let manifest: InstalledPlugin?

    /// A library by itself.
    public init(library: String) {
        (self.library, manifest) = (library, nil)
    }

    /// A plugin with its manifest, the conformance section included: ``InstalledPlugin/readingConformance()``.
    public init(_ plugin: InstalledPlugin) {
        (library, manifest) = (plugin.libraryPath, plugin)
    }

    /// What the manifest promises of URLs.
    var loads: [ConformanceLoad] { manifest?.manifest.conformance?.loads ?? [] }
}
