// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "Downloader",
    dependencies: [.package(name: "portolan", path: "../..")],
    targets: [
        .executableTarget(
            name: "Downloader",
            dependencies: [
                .product(name: "Portolan", package: "portolan"), .product(name: "PortolanBackground", package: "portolan"),
            ])
    ]
)
