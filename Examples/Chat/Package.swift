// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let streams: [Target.Dependency] = [
    .product(name: "PortolanStreams", package: "portolan"), .product(name: "PortolanRunLoop", package: "portolan"),
]

let package = Package(
    name: "Chat",
    dependencies: [.package(name: "portolan", path: "../..")],
    targets: [
        .target(name: "ChatConnection", dependencies: streams),
        .executableTarget(name: "ChatServer", dependencies: ["ChatConnection"] + streams),
        .executableTarget(name: "ChatClient", dependencies: ["ChatConnection"] + streams),
    ]
)
