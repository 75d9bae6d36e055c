// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// The same settings as in the fuzzed package.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Built by `make fuzz`, which instruments everything. Each target is one program, `fuzz-NAME`.
let package = Package(
    name: "portolan-fuzzing",
    dependencies: [
        .package(name: "portolan", path: ".."),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.10.0"),
    ],
    targets: [
        .target(name: "CLibFuzzer", path: "CLibFuzzer"),
        // The same files as the target of this name in the root package, which `make test` replays.
        .target(
            name: "FuzzTargets",
            dependencies: [
                .product(name: "Portolan", package: "portolan"), .product(name: "PortolanHandlers", package: "portolan"),
                .product(name: "PortolanPlugins", package: "portolan"), .product(name: "PortolanStore", package: "portolan"),
                .product(name: "PortolanStreams", package: "portolan"),
                .product(name: "Logging", package: "swift-log"),
            ], path: "Targets", swiftSettings: strict),
        .target(name: "FuzzDriver", dependencies: ["CLibFuzzer", "FuzzTargets"], path: "Driver", swiftSettings: strict),
    ]
        + [
            "data", "mime", "url", "manifest", "events", "gzip", "head", "chunked", "coding", "http2", "tls", "cookies", "cookiedate",
            "cookiefile", "challenge", "netrc", "cachedirectives", "diskcache", "eventstream", "streams",
        ].map { name in
            .executableTarget(
                name: "fuzz-\(name)", dependencies: ["FuzzDriver", "FuzzTargets"], path: "Executables/\(name)", swiftSettings: strict)
        }
)
