// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// Paths with tokens that the dynamic linker replaces. The linker would open another file than the host has checked.
@Suite struct LinkerTokenTests {
    @Test(
        "Only the tokens of the dynamic linker are found",
        arguments: [
            ("/a/$LIB/x.so", "$LIB"), ("/a/$ORIGIN", "$ORIGIN"), ("/$PLATFORM/x", "$PLATFORM"), ("/a/${LIB}x", "${LIB}"),
            ("/a-$LIB-b/x", "$LIB"),
            ("$$ORIGIN/x", "$ORIGIN"), ("/a/$LIBRARY/x", nil), ("/a/$LIB_/x", nil), ("/a/$LIB2", nil), ("/a/${LIB/x", nil),
            ("/a/$lib/x", nil),
            ("/a/$HOME/x", nil), ("/a/LIB/$", nil), ("", nil), ("/a/$", nil), ("/a/${", nil), ("/a/$é/${ORIGIN}", "${ORIGIN}"),
        ] as [(String, String?)])
    func tokensOfTheDynamicLinkerAreFound(_ path: String, _ token: String?) {
        #expect(LinkerToken.first(in: path) == token)
    }

    @Test("A path that contains a token is refused", arguments: ["$LIB", "a$ORIGIN", "${PLATFORM}"])
    func pathWithATokenIsRefused(_ name: String) throws {
        let folder = try TestFolder()
        try folder.plugin("\(name)/template", ManifestText.template(), fixture: "template")
        let token = try #require(LinkerToken.first(in: name))
        let errorText = "its path has '\(token)' in it, which the dynamic linker replaces (ld.so(8)), so that another file would be opened"
        let catalogue = PluginCatalogue(searching: PluginSearchPath([folder(name)]), policy: PluginPolicy())
        let plugin = try #require(catalogue["org.portolan.template"])
        #expect(#expect(throws: LoadError.self) { try plugin.open() }?.message.contains(errorText) == true)
        let error = #expect(throws: LoadError.self) { try catalogue.open(libraryAt: folder("\(name)/template/plugin.so")) }
        #expect(error?.code == .pluginNotLoadable && error?.message.contains(errorText) == true)
    }

    /// Without the check, the linker would open the library in `lib` or beside the program.
    @Test("The dynamic linker does not open another file for a path with a token") func tokenIsNotReplacedByAnotherFile() throws {
        let folder = try TestFolder()
        try folder.folder("$LIB")
        try folder.library("$LIB/plugin.so", "template")
        for folderName in ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"] {
            try folder.folder(folderName)
            try folder.library("\(folderName)/plugin.so", "second")
        }
        #expect(throws: LoadError.self) { try Plugin(contentsOf: folder("$LIB/plugin.so")) }
    }

    @Test("Any other dollar sign is an ordinary character") func pathWithAnotherDollarSignIsOpened() throws {
        let folder = try TestFolder()
        try folder.plugin("$HOME/$LIBRARY", ManifestText.template(), fixture: "template")
        #expect(try Plugin(contentsOf: folder("$HOME/$LIBRARY/plugin.so")).identifier == "org.portolan.template")
    }
}
