// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// An installation by `make install` loads plugins, and plugins can be built with its headers and its kit.
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
        let listOutcome = try program.runScript("'\(prefix)/bin/portolan' plugins list")
        #expect(
            listOutcome.lines.last == "2 plugins" && listOutcome.text.contains("\(prefix)/lib/portolan/plugins/Template"),
            "\(listOutcome.lines)")
        #expect(try program.runScript("'\(prefix)/bin/portolan' get template://greet/sea").text == "Hello, sea!\n")
        // The program searches a folder once, even if the variable names a default folder.
        let outcomeWithVariable = try program.runScript(
            "PORTOLAN_PLUGIN_PATH='\(prefix)/lib/portolan/plugins' '\(prefix)/bin/portolan' plugins list")
        #expect(outcomeWithVariable.lines.last == "2 plugins", "\(outcomeWithVariable.lines)")
        #expect(try install("PREFIX='\(prefix)'").status == 0, "a second installation replaces the first")
    }

    /// The compiler has no path to the checkout.
    @Test func pluginBuildsAgainstTheInstalledHeaders() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        try program.makeFile("mine/template.c", String(contentsOfFile: "\(root)/Plugins/Template/template.c", encoding: .utf8))
        let build = try program.runScript(
            """
            export PKG_CONFIG_PATH='\(prefix)/lib/pkgconfig'
            cc -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC $(pkg-config --cflags portolan) mine/template.c -o mine/mine.so 2>&1
            """)
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
        let loadOutcome = try program.run("get", "--plugin", "\(program.path)/mine/mine.so", "template://greet/sea?times=2")
        #expect(loadOutcome.text == "Hello, sea!\nHello, sea!\n", "\(loadOutcome.errors)")
    }

    /// The installed command creates a plugin that uses the installed headers, although pkg-config does not know the
    /// prefix.
    @Test func newPluginInCBuildsAgainstTheInstalledHeaders() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        let build = try program.runScript(
            """
            unset MAKEFLAGS MFLAGS MAKELEVEL
            '\(prefix)/bin/portolan' new plugin hello --language c && make -s -C hello 2>&1 && make -s -C hello test 2>&1
            """)
        #expect(build.status == 0 && build.lines.last == "all passed", "\(build.lines) \(build.errors)")
        #expect(program.contents(of: "hello/Makefile")?.contains(root + "/") == false)
    }

    /// The installed command creates a plugin that uses the installed kit and fetches no package.
    @Test(.enabled(if: !Program.isSanitized)) func newPluginInSwiftBuildsWithTheInstalledKit() throws {
        try program.makeFile("stage/opt/portolan/share/portolan/PluginKit/Sources/PortolanPluginKit/Old.swift", "of an older version")
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        #expect(try program.runScript("find '\(prefix)' -type l").lines == ["\(prefix)/bin/portolan"], "no link leads out of the prefix")
        let build = try program.runScript(
            """
            unset MAKEFLAGS MFLAGS MAKELEVEL
            '\(prefix)/bin/portolan' new plugin tide --language swift && make -s -C tide 2>&1 && make -s -C tide test 2>&1
            """)
        #expect(build.status == 0 && build.lines.last == "all passed", "\(build.lines) \(build.errors)")
        #expect(program.contents(of: "tide/Package.swift")?.contains("\"\(prefix)/share/portolan/PluginKit\"") == true)
    }

    // MARK: Pages

    private func checkPages(_ paths: String...) throws -> Program.Outcome {
        try program.runScript("/usr/bin/python3 '\(root)/scripts/pages.py' check \(paths.map { "'\($0)'" }.joined(separator: " ")) 2>&1")
    }

    @Test func everyLinkInTheInstalledPagesHasATarget() throws {
        #expect(try install("PREFIX='\(prefix)'").status == 0)
        let pageCheck = try checkPages(prefix)
        #expect(pageCheck.status == 0, "\(pageCheck.text)")
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
        let pageCheck = try program.runScript(
            "/usr/bin/python3 '\(root)/scripts/pages.py' check '\(root)'/*.md \(folders.joined(separator: " ")) 2>&1")
        #expect(pageCheck.status == 0, "\(pageCheck.text)")
    }

    @Test(arguments: [
        ("[a](nowhere.md)", "'nowhere.md' leads to no file"), ("[a](page.md#nothing)", "'page.md#nothing' leads to no heading"),
        ("[a](#nothing)", "'#nothing' leads to no heading"), ("![a](image.svg)", "'image.svg' leads to no file"),
        ("[a](doc:page)", "'doc:page' leads to no file"), ("<doc:page>", "'doc:page' leads to no file"),
        ("[`a` b](x/)", "'x/' leads to no file"),
    ]) func brokenLinkIsReported(link: String, problem: String) throws {
        try program.makeFile("page.md", "# A `b` c\n\n[good](#a-b-c), `[code](code.md)`, [site](https://example.org/)\n\n\(link)\n")
        let pageCheck = try checkPages(program.path)
        #expect(pageCheck.status == 1 && pageCheck.lines.first == "\(program.path)/page.md:5: \(problem)", "\(pageCheck.text)")
    }

    @Test func stagingFolderIsNotPartOfThePaths() throws {
        #expect(try install("DESTDIR='\(program.path)/stage' PREFIX=/opt/portolan/").status == 0)
        let pkgConfigOutcome = try program.runScript(
            "PKG_CONFIG_PATH='\(prefix)/lib/pkgconfig' pkg-config --cflags --variable=pluginsdir portolan; cat '\(prefix)/lib/pkgconfig/portolan.pc'"
        )
        #expect(
            pkgConfigOutcome.text.contains("prefix=/opt/portolan\n") && !pkgConfigOutcome.text.contains("stage"), "\(pkgConfigOutcome.text)"
        )
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
