// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "Embedding",
    dependencies: [.package(url: "https://example.org/portolan.git", from: "0.1.0")],
    targets: [.executableTarget(name: "Embedding", dependencies: [.product(name: "Portolan", package: "portolan")])]
)
