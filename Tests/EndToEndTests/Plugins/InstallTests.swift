// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// What `make install` puts down is enough to load, and to build plugins with.
@Suite(.blocking, .timeLimit(.minutes(2))) struct InstallTests {
    private let program: Program
    private var root: String { PluginConformanceTests.root.path }
    private let prefix: String

    init() throws {
        program = try Program()
        prefix = "\(program.path)/stage/opt/portolan"
        // As a build lays it out; the program is the one under test.
        try program.installTemplate(in: "built/plugins")
        try program.copyManifest("LibMagic", to: "built/plugins/LibMagic")
        try FileManager.default.createSymbolicLink(atPath: "\(program.path)/built/portolan", withDestinationPath: Program.executable.path)
    }

    private func install(_ variables: String) throws -> Program.Outcome {
        try program.runScript("\(variables) '\(root)/scripts/install.sh' built 2>&1")
    }

    @Test func theInstalledCommandFindsItsPlugins() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        let listed = try program.runScript("'\(prefix)/bin/portolan' plugins list")
        #expect(listed.lines.last == "2 plugins" && listed.text.contains("\(prefix)/lib/portolan/plugins/Template"), "\(listed.lines)")
        #expect(try program.runScript("'\(prefix)/bin/portolan' get template://greet/sea").text == "Hello, sea!\n")
        // A folder that is named, and would be searched anyway, is searched once.
        let twice = try program.runScript("PORTOLAN_PLUGIN_PATH='\(prefix)/lib/portolan/plugins' '\(prefix)/bin/portolan' plugins list")
        #expect(twice.lines.last == "2 plugins", "\(twice.lines)")
        #expect(try install("PREFIX='\(prefix)'").status == 0, "a second time, over the first")
    }

    /// The checkout is not in the compiler's sight.
    @Test func aPluginBuildsAgainstWhatIsInstalledAlone() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        try program.makeFile("mine/template.c", String(contentsOfFile: "\(root)/Plugins/Template/template.c", encoding: .utf8))
        let built = try program.runScript(
            """
            export PKG_CONFIG_PATH='\(prefix)/lib/pkgconfig'
            cc -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC $(pkg-config --cflags portolan) mine/template.c -o mine/mine.so 2>&1
            """)
        #expect(built.status == 0 && built.text.isEmpty, "\(built.text)")
        let loaded = try program.run("get", "--plugin", "\(program.path)/mine/mine.so", "template://greet/sea?times=2")
        #expect(loaded.text == "Hello, sea!\nHello, sea!\n", "\(loaded.errors)")
    }

    /// By the installed command, from its own headers, though pkg-config does not know the prefix.
    @Test func aNewPluginBuildsAgainstWhatIsInstalled() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        let made = try program.runScript(
            """
            unset MAKEFLAGS MFLAGS MAKELEVEL
            '\(prefix)/bin/portolan' new plugin hello --language c && make -s -C hello 2>&1 && make -s -C hello test 2>&1
            """)
        #expect(made.status == 0 && made.lines.last == "all passed", "\(made.lines) \(made.errors)")
        #expect(program.contents(of: "hello/Makefile")?.contains(root + "/") == false)
        _ = try program.runScript("'\(prefix)/bin/portolan' new plugin tide --language swift")
        #expect(program.contents(of: "tide/Package.swift")?.contains(".package(url: \"https://example.org/portolan.git\"") == true)
    }

    @Test func aStageIsNoPartOfThePaths() throws {
        #expect(try install("DESTDIR='\(program.path)/stage' PREFIX=/opt/portolan/").status == 0)
        let described = try program.runScript(
            "PKG_CONFIG_PATH='\(prefix)/lib/pkgconfig' pkg-config --cflags --variable=pluginsdir portolan; cat '\(prefix)/lib/pkgconfig/portolan.pc'"
        )
        #expect(described.text.contains("prefix=/opt/portolan\n") && !described.text.contains("stage"), "\(described.text)")
    }

    @Test(arguments: ["PREFIX=relative", "PREFIX=/", "PREFIX=\"/a b\"", "PREFIX='/a$b'", "PREFIX='/a(b'"]) func otherPrefixesAreRefused(
        variable: String
    )
        throws
    {
        let outcome = try install("DESTDIR='\(program.path)/stage' " + variable)
        #expect(outcome.status == 2 && outcome.lines.count == 1 && outcome.text.hasPrefix("PREFIX '"), "\(outcome.lines)")
        #expect(!FileManager.default.fileExists(atPath: "\(program.path)/stage"))
    }
}
