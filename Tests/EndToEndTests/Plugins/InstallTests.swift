// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// An installation by `make install` can load plugins, and plugins can be built against it.
@Suite(.blocking, .timeLimit(.minutes(10))) struct InstallTests {
    private let program: Program
    private var root: String { PluginConformanceTests.root.path }
    private let prefix: String

    init() throws {
        program = try Program()
        prefix = "\(program.path)/stage/opt/portolan"
        // Uses the layout of a build, with the program under test.
        try program.installTemplate(in: "built/plugins")
        try program.copyManifest("LibMagic", to: "built/plugins/LibMagic")
        try FileManager.default.createSymbolicLink(atPath: "\(program.path)/built/portolan", withDestinationPath: Program.executable.path)
    }

    private func install(_ variables: String) throws -> Program.Outcome {
        try program.runScript("\(variables) '\(root)/scripts/install.sh' built 2>&1")
    }

    @Test func installedCommandFindsItsPlugins() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        let listed = try program.runScript("'\(prefix)/bin/portolan' plugins list")
        #expect(listed.lines.last == "2 plugins" && listed.text.contains("\(prefix)/lib/portolan/plugins/Template"), "\(listed.lines)")
        #expect(try program.runScript("'\(prefix)/bin/portolan' get template://greet/sea").text == "Hello, sea!\n")
        // The program searches a folder once, even if the variable names a default folder.
        let twice = try program.runScript("PORTOLAN_PLUGIN_PATH='\(prefix)/lib/portolan/plugins' '\(prefix)/bin/portolan' plugins list")
        #expect(twice.lines.last == "2 plugins", "\(twice.lines)")
        #expect(try install("PREFIX='\(prefix)'").status == 0, "a second installation replaces the first")
    }

    /// The compiler has no path to the checkout.
    @Test func pluginBuildsAgainstTheInstalledHeaders() throws {
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

    /// The installed command creates a plugin that uses the installed headers, although pkg-config does not know the
    /// prefix.
    @Test func newPluginInCBuildsAgainstTheInstalledHeaders() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        let made = try program.runScript(
            """
            unset MAKEFLAGS MFLAGS MAKELEVEL
            '\(prefix)/bin/portolan' new plugin hello --language c && make -s -C hello 2>&1 && make -s -C hello test 2>&1
            """)
        #expect(made.status == 0 && made.lines.last == "all passed", "\(made.lines) \(made.errors)")
        #expect(program.contents(of: "hello/Makefile")?.contains(root + "/") == false)
    }

    /// The installed command creates a plugin that uses the installed kit and fetches no package.
    @Test(.enabled(if: !Program.isSanitized)) func newPluginInSwiftBuildsWithTheInstalledKit() throws {
        try program.makeFile("stage/opt/portolan/share/portolan/PluginKit/Sources/PortolanPluginKit/Old.swift", "of an older version")
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        #expect(try program.runScript("find '\(prefix)' -type l").lines == ["\(prefix)/bin/portolan"], "no link leads out of the prefix")
        let made = try program.runScript(
            """
            unset MAKEFLAGS MFLAGS MAKELEVEL
            '\(prefix)/bin/portolan' new plugin tide --language swift && make -s -C tide 2>&1 && make -s -C tide test 2>&1
            """)
        #expect(made.status == 0 && made.lines.last == "all passed", "\(made.lines) \(made.errors)")
        #expect(program.contents(of: "tide/Package.swift")?.contains("\"\(prefix)/share/portolan/PluginKit\"") == true)
    }

    // MARK: Pages

    private func checkPages(_ paths: String...) throws -> Program.Outcome {
        try program.runScript("/usr/bin/python3 '\(root)/scripts/pages.py' check \(paths.map { "'\($0)'" }.joined(separator: " ")) 2>&1")
    }

    @Test func everyLinkInTheInstalledPagesHasATarget() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        let checked = try checkPages(prefix)
        #expect(checked.status == 0, "\(checked.text)")
        let pages = "stage/opt/portolan/share/doc/portolan"
        let readme = try #require(program.contents(of: "\(pages)/README.md"))
        #expect(readme.contains("[command-line.md](command-line.md)") && readme.contains("[docs/conformance.md](conformance.md)"))
        #expect(readme.contains("[the headers](../../../include/portolan)"))
        // The Plugins folder is not installed.
        #expect(readme.contains("Plugins/Template shows each part") && !readme.contains("](Plugins/Template)"))
        #expect(program.contents(of: "\(pages)/Portolan.md")?.contains("- [embedding](embedding.md)\n") == true)
        #expect(program.contents(of: "\(pages)/life-of-a-load.md")?.contains("](Resources/life-of-a-load.svg)") == true)
        // No page contains the path of the staging folder.
        #expect(try program.runScript("grep -rlF -e '\(root)/' -e '\(prefix)' '\(pages)'").text.isEmpty)
    }

    @Test func everyLinkInTheRepositoryPagesHasATarget() throws {
        let folders = ["docs", "Sources", "Plugins", "Tests", "Benchmarks", "Fuzzing", "Examples"].map { "'\(root)/\($0)'" }
        let checked = try program.runScript(
            "/usr/bin/python3 '\(root)/scripts/pages.py' check '\(root)'/*.md \(folders.joined(separator: " ")) 2>&1")
        #expect(checked.status == 0, "\(checked.text)")
    }

    @Test(arguments: [
        ("[a](nowhere.md)", "'nowhere.md' leads to no file"), ("[a](page.md#nothing)", "'page.md#nothing' leads to no heading"),
        ("[a](#nothing)", "'#nothing' leads to no heading"), ("![a](image.svg)", "'image.svg' leads to no file"),
        ("[a](doc:page)", "'doc:page' leads to no file"), ("<doc:page>", "'doc:page' leads to no file"),
        ("[`a` b](x/)", "'x/' leads to no file"),
    ]) func brokenLinkIsReported(link: String, problem: String) throws {
        try program.makeFile("page.md", "# A `b` c\n\n[good](#a-b-c), `[code](code.md)`, [site](https://example.org/)\n\n\(link)\n")
        let checked = try checkPages(program.path)
        #expect(checked.status == 1 && checked.lines.first == "\(program.path)/page.md:5: \(problem)", "\(checked.text)")
    }

    @Test func stagingFolderIsNotPartOfThePaths() throws {
        #expect(try install("DESTDIR='\(program.path)/stage' PREFIX=/opt/portolan/").status == 0)
        let described = try program.runScript(
            "PKG_CONFIG_PATH='\(prefix)/lib/pkgconfig' pkg-config --cflags --variable=pluginsdir portolan; cat '\(prefix)/lib/pkgconfig/portolan.pc'"
        )
        #expect(described.text.contains("prefix=/opt/portolan\n") && !described.text.contains("stage"), "\(described.text)")
    }

    @Test(arguments: ["PREFIX=relative", "PREFIX=/", "PREFIX=\"/a b\"", "PREFIX='/a$b'", "PREFIX='/a(b'"]) func invalidPrefixesAreRefused(
        variable: String
    )
        throws
    {
        let outcome = try install("DESTDIR='\(program.path)/stage' " + variable)
        #expect(outcome.status == 2 && outcome.lines.count == 1 && outcome.text.hasPrefix("PREFIX '"), "\(outcome.lines)")
        #expect(!FileManager.default.fileExists(atPath: "\(program.path)/stage"))
    }
}
