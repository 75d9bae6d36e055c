// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Testing

@testable import PortolanCLI

@Suite struct CommandOriginTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func makeEmptyFiles(_ paths: String...) throws {
        for path in paths { try folder.write([], to: path) }
    }

    @Test func commandBuiltInACheckoutFindsTheCheckout() throws {
        try makeEmptyFiles(
            "checkout/Sources/CPortolan/include/portolan/portolan.h", "checkout/Package.swift", "checkout/.build/debug/portolan")
        let origin = CommandOrigin(executable: folder.path(of: "checkout/.build/debug/portolan"))
        #expect(origin.source == .checkout(folder.path(of: "checkout")))
        #expect(origin.command == folder.path(of: "checkout/.build/debug/portolan"))
    }

    @Test func installedCommandFindsItsPrefix() throws {
        try makeEmptyFiles("usr/include/portolan/portolan.h", "usr/lib/portolan/portolan")
        let origin = CommandOrigin(executable: folder.path(of: "usr/lib/portolan/portolan"))
        #expect(origin.source == .installed(prefix: folder.path(of: "usr")))
        #expect(origin.command == folder.path(of: "usr/bin/portolan"))
    }

    @Test func commandOutsideACheckoutAndAPrefixHasNoSource() throws {
        try makeEmptyFiles("bin/portolan")
        let origin = CommandOrigin(executable: folder.path(of: "bin/portolan"))
        #expect(origin.source == .elsewhere && origin.command == folder.path(of: "bin/portolan"))
    }

    /// In a path, make(1) or a shell would interpret these characters.
    @Test(arguments: ["a'b", "a$b", "a\"b", "a#b", "a\\b", "a\nb", "a:b", "a`b", "a(b"]) func pathsWithSpecialCharactersAreNotUsed(
        name: String
    )
        throws
    {
        try makeEmptyFiles("\(name)/Sources/CPortolan/include/portolan/portolan.h", "\(name)/Package.swift")
        let origin = CommandOrigin(executable: folder.path(of: "\(name)/portolan"))
        #expect(origin.source == .elsewhere && origin.command == "portolan")
        #expect(CommandOrigin(executable: nil) == origin)
    }
}
