// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// The one set of rules for every Swift target (see CONTRIBUTING.md).
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
/// SQLite, for what outlives the process. Nobody builds it who does not use PortolanStore or the command, or who turns
/// the trait off.
let database: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Persistence"]))
/// The C functions of the same SQLite.
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift", condition: .when(traits: ["Persistence"]))
/// What `make docs` needs, and nobody who builds or depends on this package.
let documentation: [Package.Dependency] =
    Context.environment["PORTOLAN_DOCUMENTATION"] == nil
    ? [] : [.package(url: "https://github.com/swiftlang/swift-docc-plugin.git", from: "1.5.0")]

/// The benchmarks are part of the package where the Makefile measures or tests them. The packages of their peers are
/// part of it where it measures ("peers").
let hasBenchmarks = Context.environment["PORTOLAN_BENCHMARKS"] != nil
let hasPeers = Context.environment["PORTOLAN_BENCHMARKS"] == "peers"
let peers: [Package.Dependency] =
    hasPeers
    ? [
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.36.0"),
    ] : []
let peerProducts: [Target.Dependency] =
    hasPeers
    ? [
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
    ] : []
/// The build of the tests has PortolanRedis, too. It does not turn on the trait, because that would change the flags of
/// every target, and so build everything again.
let redis: [SwiftSetting] = hasBenchmarks ? strict + [.define("Redis")] : strict
/// The same for the libraries that need packages of their own.
let observability: [SwiftSetting] = hasBenchmarks ? strict + [.define("Observability"), .define("ServiceLifecycle")] : strict
/// A product of a package that only some users have. The trait has the name of the compilation condition.
func optional(_ product: String, _ package: String, trait: String) -> Target.Dependency {
    hasBenchmarks
        ? .product(name: product, package: package) : .product(name: product, package: package, condition: .when(traits: [trait]))
}
/// The benchmarks, and the tests that need a library that users may not have.
let benchmarks: [Target] =
    hasBenchmarks
    ? [
        .systemLibrary(name: "CTally", path: "Benchmarks/Sources/CTally"),
        .systemLibrary(name: "CLinux", path: "Benchmarks/Sources/CLinux"),
        .systemLibrary(
            name: "CCurl", path: "Benchmarks/Sources/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CTally", "CLinux", "CCurl", "CPortolanZlib", "CPortolanOpenSSL", "CPortolanNGHTTP2", "Portolan", "PortolanHandlers",
                "PortolanCookies", "PortolanCore", "PortolanHTML", "PortolanPlugins", "PortolanStore", "PortolanStreams", "CPortolanLinux",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + peerProducts,
            path: "Benchmarks/Sources/bench", swiftSettings: strict),
        .testTarget(
            name: "BenchTests", dependencies: ["bench", "ServerSupport"], path: "Benchmarks/Tests/BenchTests", swiftSettings: strict),
        // Without the define, the library is empty.
        .testTarget(
            name: "PortolanRedisTests",
            dependencies: [
                "PortolanRedis", "PortolanCache", "PortolanCore", "PortolanURL", "CacheStoreSuite", "ServerSupport", httpTypes, logging,
            ],
            swiftSettings: redis),
        .testTarget(
            name: "PortolanObservabilityTests",
            dependencies: [
                "PortolanMetrics", "PortolanTracing", "PortolanServiceLifecycle", "PortolanCore", "PortolanTestSupport", httpTypes,
                .product(name: "CoreMetrics", package: "swift-metrics"), .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"), logging,
            ],
            swiftSettings: observability),
    ] : []

// Top to bottom: a target uses only targets that stand above it.
let package = Package(
    name: "portolan",
    products: [
        .library(name: "Portolan", targets: ["Portolan"]),
        .library(name: "PortolanHandlers", targets: ["PortolanHandlers"]),
        .library(name: "PortolanPlugins", targets: ["PortolanPlugins"]),
        .library(name: "PortolanStore", targets: ["PortolanStore"]),
        .library(name: "PortolanBackground", targets: ["PortolanBackground"]),
        .library(name: "PortolanRunLoop", targets: ["PortolanRunLoop"]),
        .library(name: "PortolanStreams", targets: ["PortolanStreams"]),
        .library(name: "PortolanRedis", targets: ["PortolanRedis"]),
        .library(name: "PortolanMetrics", targets: ["PortolanMetrics"]),
        .library(name: "PortolanTracing", targets: ["PortolanTracing"]),
        .library(name: "PortolanServiceLifecycle", targets: ["PortolanServiceLifecycle"]),
        .library(name: "PortolanPluginKit", targets: ["PortolanPluginKit"]),
        .library(name: "PortolanTestSupport", targets: ["PortolanTestSupport"]),
        .library(name: "PortolanConformance", targets: ["PortolanConformance"]),
        .executable(name: "portolan", targets: ["PortolanCLI"]),
    ],
    traits: [
        .trait(name: "Persistence", description: "Stores on disk, with SQLite: PortolanStore, and the options of the command that use it."),
        .trait(name: "Redis", description: "A cache on a server of Redis or Valkey, with the system's hiredis: PortolanRedis."),
        .trait(
            name: "Observability",
            description: "Metrics and spans with swift-metrics and swift-distributed-tracing: PortolanMetrics, PortolanTracing."),
        .trait(name: "ServiceLifecycle", description: "A loader as a service of swift-service-lifecycle: PortolanServiceLifecycle."),
        .default(enabledTraits: ["Persistence"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.10.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.5.0"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ] + documentation + peers,
    targets: [
        .target(name: "CPortolan"),
        .systemLibrary(name: "CPortolanLinux"),
        .systemLibrary(name: "CPluginObservation"),
        .systemLibrary(name: "CPortolanZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CPortolanFFI", pkgConfig: "libffi", providers: [.apt(["libffi-dev"])]),
        .systemLibrary(name: "CPortolanOpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPortolanNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CPortolanXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        // Without pkgConfig, because SwiftPM would warn those who do not have hiredis and do not use the trait.
        .systemLibrary(name: "CPortolanHiredis"),
        .target(name: "PortolanJSON", swiftSettings: strict),
        .target(name: "PortolanURL", swiftSettings: strict),
        .target(
            name: "PortolanCore", dependencies: ["PortolanURL", "CPortolanLinux", httpTypes, logging],
            swiftSettings: strict),
        .target(name: "PortolanCookies", dependencies: ["PortolanURL", "PortolanCore", httpTypes], swiftSettings: strict),
        // PortolanCookies has the table of public suffixes.
        .target(
            name: "PortolanHSTS", dependencies: ["PortolanURL", "PortolanCore", "PortolanCookies", httpTypes], swiftSettings: strict),
        .target(name: "PortolanTrace", dependencies: ["PortolanCore", "PortolanJSON", httpTypes], swiftSettings: strict),
        .target(name: "PortolanData", dependencies: ["PortolanCore", httpTypes], swiftSettings: strict),
        .target(name: "PortolanFile", dependencies: ["PortolanCore", httpTypes], swiftSettings: strict),
        .target(name: "PortolanContent", dependencies: ["PortolanURL", "PortolanCore", httpTypes], swiftSettings: strict),
        .target(name: "PortolanCoding", dependencies: ["PortolanCore", "CPortolanZlib", httpTypes], swiftSettings: strict),
        .target(name: "PortolanHTTPSyntax", dependencies: ["PortolanCore", "PortolanCoding", httpTypes], swiftSettings: strict),
        .target(
            name: "PortolanCache",
            dependencies: [
                "PortolanURL", "PortolanCore", "PortolanCoding", "PortolanHTTPSyntax", httpTypes,
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: strict),
        // A target of its own, because it needs the whole of Foundation.
        .target(name: "PortolanRunLoop", dependencies: ["PortolanCore"], swiftSettings: strict),
        // Empty without the trait Redis.
        .target(
            name: "PortolanRedis",
            dependencies: [
                "PortolanCache", "PortolanCore", "PortolanCoding", "PortolanURL", "CPortolanHiredis", "CPortolanLinux", httpTypes, logging,
            ],
            swiftSettings: redis),
        .target(
            name: "PortolanStore",
            dependencies: [
                "PortolanCore", "PortolanCookies", "PortolanHSTS", "PortolanCache", "PortolanURL", "CPortolanLinux",
                .target(name: "CPortolanXXHash", condition: .when(traits: ["Persistence"])), httpTypes, logging, database,
                sqlite,
            ],
            swiftSettings: strict),
        // System calls on files, for the command and for downloads.
        .target(name: "PortolanFileSystem", dependencies: ["PortolanCore", "CPortolanLinux"], swiftSettings: strict),
        .target(
            name: "PortolanDownloads",
            dependencies: [
                "PortolanURL", "PortolanCore", "PortolanCache", "PortolanFileSystem", httpTypes,
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: strict),
        // Downloads and uploads that outlive the program. Empty without the trait Persistence.
        .target(
            name: "PortolanBackground",
            dependencies: [
                "PortolanURL", "PortolanCore", "PortolanDownloads", "PortolanFileSystem", "PortolanStore", "CPortolanLinux", httpTypes,
                logging,
            ],
            swiftSettings: strict),
        .target(
            name: "PortolanTransport",
            dependencies: ["PortolanCore", "PortolanHTTPSyntax", "CPortolanLinux", "CPortolanOpenSSL", httpTypes],
            swiftSettings: strict),
        // A target of its own, because few programs need streams.
        .target(name: "PortolanStreams", dependencies: ["PortolanCore", "PortolanFileSystem", "PortolanTransport"], swiftSettings: strict),
        .target(
            name: "PortolanHTTP",
            dependencies: [
                "PortolanCore", "PortolanCoding", "PortolanHTTPSyntax", "PortolanTransport", "CPortolanNGHTTP2", httpTypes, logging,
            ],
            swiftSettings: strict),
        .target(
            name: "PortolanBinding", dependencies: ["PortolanCore", "PortolanJSON", "CPortolanFFI", httpTypes, logging],
            swiftSettings: strict),
        .target(
            name: "PortolanPlugins",
            dependencies: [
                "PortolanCore", "PortolanBinding", "CPortolan", "CPortolanLinux", "CPluginObservation", "PortolanJSON",
                httpTypes, logging,
            ],
            swiftSettings: strict),
        .target(
            name: "Portolan",
            dependencies: [
                "PortolanURL", "PortolanCore", "PortolanCookies", "PortolanHSTS", "PortolanCache", "PortolanDownloads", "PortolanCoding",
                "PortolanData", "PortolanFile", "PortolanContent", "PortolanHTTP",
                "PortolanHTTPSyntax",
                "PortolanPlugins", "PortolanTransport", httpTypes, logging,
            ],
            swiftSettings: strict),
        // Empty without their traits.
        .target(
            name: "PortolanMetrics",
            dependencies: ["PortolanURL", "PortolanCore", httpTypes, optional("CoreMetrics", "swift-metrics", trait: "Observability")],
            swiftSettings: observability),
        .target(
            name: "PortolanTracing",
            dependencies: [
                "PortolanURL", "PortolanCore", httpTypes, optional("Tracing", "swift-distributed-tracing", trait: "Observability"),
            ],
            swiftSettings: observability),
        .target(
            name: "PortolanServiceLifecycle",
            dependencies: ["PortolanCore", optional("ServiceLifecycle", "swift-service-lifecycle", trait: "ServiceLifecycle")],
            swiftSettings: observability),
        // For authors of handlers in Swift.
        .target(name: "PortolanHandlers", dependencies: ["PortolanCore", httpTypes], swiftSettings: strict),
        // The plugin author's side: it never sees the host.
        .target(name: "PortolanPluginKit", dependencies: ["CPortolan"], swiftSettings: strict),
        .target(name: "PortolanTestSupport", dependencies: ["PortolanCore", "PortolanTrace", httpTypes, logging], swiftSettings: strict),
        // Pages for readers: what reports and traces share.
        .target(name: "PortolanHTML", swiftSettings: strict),
        .target(
            name: "PortolanConformance",
            dependencies: [
                "PortolanPlugins", "PortolanCore", "PortolanHTML", "PortolanJSON", "CPortolan", "CPluginObservation", httpTypes,
            ],
            // Its own tests judge some hundred broken plugins by each check, on all processors: a quarter less of them.
            swiftSettings: hasBenchmarks ? strict + [.unsafeFlags(["-O"])] : strict),
        // Threads for tests that wait; no product.
        .target(name: "TestThreads", dependencies: ["PortolanCore"], path: "Tests/TestThreads", swiftSettings: strict),
        // What each store of the cache must do; no product.
        .target(
            name: "CacheStoreSuite", dependencies: ["PortolanCache", "PortolanCore", "PortolanURL", httpTypes],
            path: "Tests/CacheStoreSuite", swiftSettings: strict),
        // The servers of the tests; no product.
        .systemLibrary(name: "CServerSupport", path: "Tests/CServerSupport"),
        .target(
            name: "ServerSupport",
            dependencies: ["PortolanCore", "PortolanTestSupport", "TestThreads", "CServerSupport", "CPortolanOpenSSL"],
            path: "Tests/ServerSupport", swiftSettings: strict),
        // What `make fuzz` runs, for FuzzReplayTests; no product.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Portolan", "PortolanHandlers", "PortolanCache", "PortolanCoding", "PortolanContent", "PortolanCookies", "PortolanCore",
                "PortolanHTTP", "PortolanHTTPSyntax", "PortolanPlugins", "PortolanStore", "PortolanStreams", "PortolanTransport",
                "CPortolanNGHTTP2", "CPortolanOpenSSL",
                httpTypes, logging,
            ],
            // The package of the fuzzers compiles the same files, and has no access to package declarations.
            path: "Fuzzing/Targets", packageAccess: false, swiftSettings: strict),
        .executableTarget(
            name: "PortolanCLI",
            dependencies: [
                "Portolan", "PortolanHandlers", "PortolanConformance", "PortolanCookies", "PortolanHSTS", "PortolanCore", "PortolanData",
                "PortolanFile", "PortolanFileSystem", "PortolanContent",
                "PortolanHTML",
                .target(name: "PortolanStore", condition: .when(traits: ["Persistence"])),
                .target(name: "PortolanBackground", condition: .when(traits: ["Persistence"])),
                "PortolanCache", "PortolanHTTPSyntax", "PortolanJSON", "PortolanPlugins", "PortolanTrace", "PortolanTransport",
                "CPortolanLinux",
                httpTypes, logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        // An example, which the tests run; no product.
        .executableTarget(
            name: "Downloader", dependencies: ["Portolan", .target(name: "PortolanBackground", condition: .when(traits: ["Persistence"]))],
            path: "Examples/Downloader/Sources/Downloader"),
        // An example of two programs, which the tests run; no product.
        .target(name: "ChatConnection", dependencies: ["PortolanStreams"], path: "Examples/Chat/Sources/ChatConnection"),
        .executableTarget(
            name: "ChatServer",
            dependencies: ["ChatConnection", "PortolanStreams", "PortolanRunLoop"],
            path: "Examples/Chat/Sources/ChatServer"),
        .executableTarget(
            name: "ChatClient",
            dependencies: ["ChatConnection", "PortolanStreams", "PortolanRunLoop"],
            path: "Examples/Chat/Sources/ChatClient"),
        // A process that tests kill while it writes; no product.
        .executableTarget(
            name: "StoreWriter",
            dependencies: [
                "PortolanCookies", "PortolanCore", .target(name: "PortolanStore", condition: .when(traits: ["Persistence"])),
            ],
            path: "Tests/StoreWriter", swiftSettings: strict),
        // A process that uses a cache until tests kill it; no product.
        .executableTarget(
            name: "CacheFiller",
            dependencies: [
                "CacheStoreSuite", "PortolanCache", "PortolanCore", "PortolanURL",
                .target(name: "PortolanStore", condition: .when(traits: ["Persistence"])), httpTypes, logging,
            ],
            path: "Tests/CacheFiller", swiftSettings: strict),
        .testTarget(
            name: "PortolanStoreTests",
            dependencies: [
                "PortolanStore", "StoreWriter", "CacheFiller", "PortolanCookies", "PortolanHSTS", "PortolanCache", "PortolanCore",
                "PortolanURL",
                "PortolanTestSupport", "CacheStoreSuite", "TestThreads", httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanHSTSTests", dependencies: ["PortolanHSTS", "PortolanCore", "PortolanURL", httpTypes], swiftSettings: strict),
        .testTarget(
            name: "PortolanCookiesTests",
            dependencies: ["PortolanCookies", "PortolanCore", "PortolanURL", "PortolanTestSupport", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanCacheTests",
            dependencies: ["PortolanCache", "PortolanCore", "PortolanURL", "PortolanTestSupport", "CacheStoreSuite", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanDownloadsTests",
            dependencies: [
                "PortolanDownloads", "PortolanBackground", "PortolanStore", "PortolanFileSystem", "PortolanHTTP", "PortolanCore",
                "PortolanURL", "PortolanTestSupport", "TestThreads", "ServerSupport", httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(name: "PortolanURLTests", dependencies: ["PortolanURL", "PortolanTestSupport"], swiftSettings: strict),
        .testTarget(
            name: "PortolanCoreTests",
            dependencies: ["PortolanCore", "PortolanHandlers", "PortolanTestSupport", httpTypes, logging], swiftSettings: strict),
        .testTarget(
            name: "PortolanTraceTests",
            dependencies: ["PortolanTrace", "PortolanCore", "PortolanJSON", "PortolanTestSupport", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanRunLoopTests", dependencies: ["PortolanRunLoop", "PortolanCore", "PortolanTestSupport", "TestThreads"],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanStreamsTests",
            dependencies: [
                "PortolanStreams", "PortolanRunLoop", "PortolanCore", "PortolanTransport", "PortolanTestSupport", "ServerSupport",
                "TestThreads",
                "CPortolanLinux",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanDataTests", dependencies: ["PortolanData", "PortolanCore", "PortolanTestSupport", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanFileTests", dependencies: ["PortolanFile", "PortolanCore", "PortolanTestSupport", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanContentTests",
            dependencies: [
                "PortolanContent", "PortolanHTTP", "PortolanTransport", "PortolanCore", "PortolanURL", "PortolanTestSupport",
                "ServerSupport",
                httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanCodingTests",
            dependencies: ["PortolanCoding", "PortolanCore", "PortolanTestSupport", "CPortolanZlib", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanHTTPSyntaxTests", dependencies: ["PortolanHTTPSyntax", "PortolanCoding", "PortolanCore", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanTransportTests",
            dependencies: [
                "PortolanTransport", "PortolanHTTPSyntax", "PortolanCore", "ServerSupport", "TestThreads", "CPortolanOpenSSL", httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PortolanHTTPTests",
            dependencies: [
                "PortolanHTTP", "PortolanHTTPSyntax", "PortolanTransport", "PortolanCoding", "PortolanCore", "PortolanTestSupport",
                "TestThreads", "ServerSupport", "CPortolanOpenSSL", "CPortolanNGHTTP2", httpTypes, logging,
            ], swiftSettings: strict),
        .testTarget(name: "CPortolanTests", dependencies: ["CPortolan"], swiftSettings: strict),
        .testTarget(name: "PortolanBindingTests", dependencies: ["PortolanBinding", "PortolanCore"], swiftSettings: strict),
        .testTarget(
            name: "PortolanPluginsTests",
            dependencies: [
                "PortolanPlugins", "PortolanPluginKit", "PortolanCore", "PortolanCookies", "PortolanJSON", "CPortolan", "PortolanData",
                "PortolanHTTP", "PortolanTestSupport", "TestThreads", "ServerSupport", "CPortolanLinux", httpTypes, logging,
            ], swiftSettings: strict),
        .testTarget(
            name: "PortolanCLITests",
            dependencies: [
                "PortolanCLI", "Portolan", "PortolanCore", "PortolanCache", "PortolanFileSystem", "PortolanHTML", "PortolanJSON",
                "PortolanPlugins",
                "PortolanTrace", "PortolanTestSupport", "PortolanURL",
                httpTypes,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: strict),
        .testTarget(
            name: "PortolanConformanceTests",
            dependencies: [
                "CPortolan", "PortolanConformance", "PortolanCore", "PortolanJSON", "PortolanPlugins", "PortolanTestSupport", "TestThreads",
                httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(name: "PortolanJSONTests", dependencies: ["PortolanJSON"], swiftSettings: strict),
        .testTarget(name: "ServerSupportTests", dependencies: ["ServerSupport"], swiftSettings: strict),
        .testTarget(name: "FuzzReplayTests", dependencies: ["FuzzTargets"], swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "PortolanCLI", "Downloader", "ChatServer", "ChatClient", "PortolanConformance", "PortolanPlugins", "ServerSupport",
                "TestThreads",
            ],
            swiftSettings: strict),
    ] + benchmarks,
    cLanguageStandard: .c11
)
