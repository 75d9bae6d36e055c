// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// The kit for plugins in Swift. 'portolan new plugin --language swift' depends on it. It has no dependencies, so
// nothing is fetched to build a plugin. In a checkout its sources are links; 'make install' copies them.
let package = Package(
    name: "portolan",
    products: [.library(name: "PortolanPluginKit", targets: ["PortolanPluginKit"])],
    targets: [
        .target(name: "CPortolan"),
        .target(
            name: "PortolanPluginKit", dependencies: ["CPortolan"],
            // Those of the targets in Portolan's own Package.swift.
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .strictMemorySafety(),
            ]),
    ])
