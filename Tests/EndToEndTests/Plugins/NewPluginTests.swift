// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// The output of `portolan new plugin` builds, loads and passes its own test without changes.
@Suite(.blocking, .timeLimit(.minutes(10))) struct NewPluginTests {
    private let program: Program

    init() throws {
        program = try Program()
    }

    /// Runs make as a user does, without the variables of a make that runs this test.
    private func make(_ arguments: String) throws -> Program.Outcome {
        try program.runScript("unset MAKEFLAGS MFLAGS MAKELEVEL; make -s \(arguments) 2>&1")
    }

    @Test(arguments: ["hello", "a+b-2.x"]) func pluginInCBuildsAndLoads(name: String) throws {
        let newOutcome = try program.run("new", "plugin", name, "--language", "c")
        #expect(newOutcome.status == 0 && newOutcome.lines.first == "\(name)/ is a plugin in C; next:", "\(newOutcome.errors)")
        let build = try make("-C \(name)")
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
        let loadOutcome = try program.run("get", "-i", "--plugin", name, "\(name)://world")
        #expect(
            loadOutcome.text == "content-type: text/plain;charset=utf-8\ncontent-length: 14\n\nHello, world!\n", "\(loadOutcome.errors)")
        #expect(
            try program.run("get", "--plugin", name, "\(name):").errors == ["portolan: \(name): no name is given; write \(name)://world"])
        let testOutcome = try make("-C \(name) test")
        #expect(testOutcome.status == 0 && testOutcome.lines == [".: valid", "all passed"], "\(testOutcome.lines)")
        #expect(try program.run("plugins", "validate", name).lines == ["\(name): valid"])
    }

    /// The names are those of functions in the generated code, of words of C, and of functions of the contract.
    @Test(arguments: ["make", "run", "refuse", "main", "int", "client", "greeting", "calloc", "plugin", "portolan-request"])
    func pluginInCBuildsWithEveryName(name: String) throws {
        #expect(try program.run("new", "plugin", name, "--language", "c").status == 0)
        let build = try make("-C \(name) CFLAGS='-O0 -Werror -Wshadow'")
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
    }

    @Test(arguments: ["hello", "a+b-2.x"]) func pluginInCPlusPlusBuildsAndLoads(name: String) throws {
        let newOutcome = try program.run("new", "plugin", name, "--language", "c++")
        #expect(newOutcome.status == 0 && newOutcome.lines.first == "\(name)/ is a plugin in C++; next:", "\(newOutcome.errors)")
        let build = try make("-C \(name)")
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
        let loadOutcome = try program.run("get", "-i", "--plugin", name, "\(name)://world")
        #expect(
            loadOutcome.text == "content-type: text/plain;charset=utf-8\ncontent-length: 14\n\nHello, world!\n", "\(loadOutcome.errors)")
        #expect(
            try program.run("get", "--plugin", name, "\(name):").errors == ["portolan: \(name): no name is given; write \(name)://world"])
        let testOutcome = try make("-C \(name) test")
        #expect(testOutcome.status == 0 && testOutcome.lines == [".: valid", "all passed"], "\(testOutcome.lines)")
        let symbols = try program.runScript("nm -D --defined-only '\(name)/\(name).so' | cut -d ' ' -f 3")
        #expect(symbols.lines == ["portolan_plugin_entry"], "\(symbols.text)")
    }

    /// The names are those of words of C++, and of classes of portolan.hpp.
    @Test(arguments: ["class", "handler", "client", "portolan-request", "int"])
    func pluginInCPlusPlusBuildsWithEveryName(name: String) throws {
        #expect(try program.run("new", "plugin", name, "--language", "cpp").status == 0)
        let build = try make("-C \(name) CXXFLAGS='-O0 -Werror -Wshadow -Wconversion'")
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
    }

    @Test func pluginInCUsesPOSIX() throws {
        #expect(try program.run("new", "plugin", "hello", "--language", "c").status == 0)
        let build = try program.runScript(
            """
            printf '#include <fcntl.h>\\nint hello_flags(void);\\nint hello_flags(void) { return O_CLOEXEC; }\\n' >> hello/hello.c
            unset MAKEFLAGS MFLAGS MAKELEVEL; make -s -C hello CFLAGS=-Werror 2>&1
            """)
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
    }

    @Test func namePortolanIsRefused() throws {
        let outcome = try program.run("new", "plugin", "portolan", "--language", "swift")
        #expect(
            outcome.status == 2
                && outcome.errors == [
                    "portolan: the name 'portolan' is the name of Portolan's package; choose another name (see 'portolan help new plugin')"
                ])
        #expect(try program.files.isEmpty)
    }

    /// Builds the C plugin with strict compiler warnings.
    @Test func pluginInCReadsOnlyTheBytesOfTheName() throws {
        _ = try program.run("new", "plugin", "hello", "--language", "c")
        #expect(try make("-C hello CFLAGS='-O2 -Werror -Wconversion -Wshadow'").lines.isEmpty)
        for count in [1, 255, 256, 4000] {
            let name = String(repeating: "n", count: count)
            let loadOutcome = try program.run("get", "--plugin", "hello", "hello://\(name)")
            #expect(loadOutcome.text == (count < 256 ? "Hello, \(name)!\n" : ""))
            #expect(loadOutcome.errors == (count < 256 ? [] : ["portolan: hello: the name is longer than 255 bytes"]))
        }
    }

    @Test func bindingLoadsWithoutABuild() throws {
        let newOutcome = try program.run("new", "plugin", "hello", "--language", "binding")
        #expect(
            newOutcome.status == 0 && newOutcome.lines.first == "hello/ is a binding of a library, without code; next:",
            "\(newOutcome.errors)")
        let validation = try make("-C hello")
        #expect(validation.status == 0 && validation.lines == [".: valid"], "\(validation.text)")
        #expect(try program.run("get", "--plugin", "hello", "hello://world").text == "crc32 of world: 980881731\n")
        let outcome = try program.run("get", "--plugin", "hello", "hello:")
        #expect(outcome.status == 3 && outcome.errors == ["portolan: 'hello:' contains no text; write hello://world"])
        let testOutcome = try make("-C hello test")
        #expect(testOutcome.status == 0 && testOutcome.lines == [".: valid", "all passed"], "\(testOutcome.lines)")
    }

    /// The generated test fails if the plugin's result differs from the expected one.
    @Test func generatedTestCanFail() throws {
        _ = try program.run("new", "plugin", "hello", "--language", "binding")
        let manifest = try #require(program.contents(of: "hello/hello.plugin.json"))
        try program.makeFile("hello/hello.plugin.json", manifest.replacingOccurrences(of: "crc32 of {", with: "CRC of {"))
        let testOutcome = try make("-C hello test")
        #expect(
            testOutcome.status != 0 && testOutcome.lines.contains { $0.hasSuffix(", got 'CRC of world: 980881731'") },
            "\(testOutcome.lines)")
    }

    @Test(.enabled(if: !Program.isSanitized)) func pluginInSwiftBuildsWithTheKitOfThisCheckout() throws {
        let newOutcome = try program.run("new", "plugin", "hello", "--language", "swift")
        #expect(newOutcome.status == 0, "\(newOutcome.errors)")
        let root = PluginConformanceTests.root.resolvingSymlinksInPath().path
        let package = try #require(program.contents(of: "hello/Package.swift"))
        #expect(package.contains("?? \"\(root)/PluginKit\""), "\(package)")
        let build = try make("-C hello")
        #expect(build.status == 0, "\(build.text)")
        let testOutcome = try make("-C hello test")
        #expect(testOutcome.status == 0 && testOutcome.lines == [".: valid", "all passed"], "\(testOutcome.lines)")
        // A stack trace can name the functions of the plugin, although the library exports only its entry.
        let symbols = try program.runScript("nm hello/hello.so; nm -D --defined-only --extern-only hello/hello.so | wc -l")
        #expect(symbols.text.contains("SchemeHandlerV") && symbols.lines.last == "1", "\(symbols.lines.suffix(3))")
        // The kit's folder is not needed after the build.
        let buildWithoutKit = try make("-C hello PORTOLAN_KIT=/nowhere")
        #expect(buildWithoutKit.status == 0, "a finished build is not repeated")
        let rebuildWithoutKit = try program.runScript("cd hello && touch Package.swift && make -s PORTOLAN_KIT=/nowhere 2>&1")
        #expect(rebuildWithoutKit.status != 0 && rebuildWithoutKit.text.contains("/nowhere"), "\(rebuildWithoutKit.text)")
    }

    /// A copy of the command without its installation has neither headers nor a kit.
    @Test(arguments: ["c", "c++", "swift", "rust"]) func commandWithoutAKitReportsWhatItNeeds(language: String) throws {
        let newOutcome = try program.runScript("mkdir bin && cp \"$portolan\" bin/ && bin/portolan new plugin hello --language \(language)")
        #expect(
            newOutcome.status == 105 && newOutcome.errors.count == 1 && newOutcome.errors.first?.contains("make install") == true,
            "\(newOutcome.errors)")
        #expect(try program.files == ["bin"])
    }

    @Test func failureIsReportedInOneLine() throws {
        try program.makeFile("old/kept", "text")
        let outcomeForAnExistingFolder = try program.run("new", "plugin", "old", "--language", "c")
        #expect(outcomeForAnExistingFolder.status == 23)
        #expect(
            outcomeForAnExistingFolder.errors == [
                "portolan: 'old' exists and is not overwritten; choose another name, or run the command in another folder"
            ])
        #expect(try program.files == ["old"])

        let outcomeForAnInvalidName = try program.run("new", "plugin", "a/../b", "--language", "c")
        #expect(outcomeForAnInvalidName.status == 2 && outcomeForAnInvalidName.errors.count == 1)
        #expect(
            outcomeForAnInvalidName.errors.first?.hasPrefix("portolan: the name 'a/../b' is not a URL scheme") == true,
            "\(outcomeForAnInvalidName.errors)")
        let outcomeForAnUnknownLanguage = try program.run("new", "plugin", "hello", "--language", "cobol")
        #expect(
            outcomeForAnUnknownLanguage.status == 2 && outcomeForAnUnknownLanguage.errors.count == 1,
            "\(outcomeForAnUnknownLanguage.errors)")
        #expect(try program.files == ["old"])
    }
}
