// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import Testing

/// The code in plugin-in-swift.md is the code that is compiled here.
@Suite struct KitPageTests {
    private static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")

    private func text(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(Self.root)/\(path)")), as: UTF8.self)
    }

    @Test(arguments: ["Tests/PortolanPluginsTests/Kit/HelloPlugin.swift", "Plugins/Echo/EchoPlugin.swift"])
    func pageShowsTheSourceFile(_ path: String) throws {
        let file = try text(path)
        let code =
            path.hasSuffix("HelloPlugin.swift")
            ? String(file.drop { $0 != "\n" }.dropFirst(2))
            : file.split(separator: "\n").last.map { $0.replacing("EchoPlugin", with: "Hello") + "\n" }
        #expect(try text("Sources/Portolan/Portolan.docc/plugin-in-swift.md").contains("```swift\n\(try #require(code))```"))
    }
}
