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
        let made = try program.run("new", "plugin", name, "--language", "c")
        #expect(made.status == 0 && made.lines.first == "\(name)/ is a plugin in C; next:", "\(made.errors)")
        let built = try make("-C \(name)")
        #expect(built.status == 0 && built.text.isEmpty, "\(built.text)")
        let loaded = try program.run("get", "-i", "--plugin", name, "\(name)://world")
        #expect(loaded.text == "content-type: text/plain;charset=utf-8\ncontent-length: 14\n\nHello, world!\n", "\(loaded.errors)")
        #expect(
            try program.run("get", "--plugin", name, "\(name):").errors == ["portolan: \(name): no name is given; write \(name)://world"])
        let tested = try make("-C \(name) test")
        #expect(tested.status == 0 && tested.lines == [".: valid", "all passed"], "\(tested.lines)")
        #expect(try program.run("plugins", "validate", name).lines == ["\(name): valid"])
    }

    /// Names of functions in the generated code, of C, and of the contract.
    @Test(arguments: ["make", "run", "refuse", "main", "int", "client", "greeting", "calloc", "plugin", "portolan-request"])
    func pluginInCBuildsWithEveryName(name: String) throws {
        #expect(try program.run("new", "plugin", name, "--language", "c").status == 0)
        let built = try make("-C \(name) CFLAGS='-O0 -Werror -Wshadow'")
        #expect(built.status == 0 && built.text.isEmpty, "\(built.text)")
    }

    @Test func namePortolanIsRefused() throws {
        let refused = try program.run("new", "plugin", "portolan", "--language", "swift")
        #expect(
            refused.status == 2
                && refused.errors == [
                    "portolan: the name 'portolan' is the name of Portolan's package; choose another name (see 'portolan help new plugin')"
                ])
        #expect(try program.files.isEmpty)
    }

    /// Builds the C plugin with strict compiler warnings.
    @Test func pluginInCReadsNothingOutsideTheName() throws {
        _ = try program.run("new", "plugin", "hello", "--language", "c")
        #expect(try make("-C hello CFLAGS='-O2 -Werror -Wconversion -Wshadow'").lines.isEmpty)
        for count in [1, 255, 256, 4000] {
            let name = String(repeating: "n", count: count)
            let loaded = try program.run("get", "--plugin", "hello", "hello://\(name)")
            #expect(loaded.text == (count < 256 ? "Hello, \(name)!\n" : ""))
            #expect(loaded.errors == (count < 256 ? [] : ["portolan: hello: the name is longer than 255 bytes"]))
        }
    }

    @Test func bindingLoadsWithoutABuild() throws {
        let made = try program.run("new", "plugin", "hello", "--language", "binding")
        #expect(made.status == 0 && made.lines.first == "hello/ is a binding of a library, without code; next:", "\(made.errors)")
        let checked = try make("-C hello")
        #expect(checked.status == 0 && checked.lines == [".: valid"], "\(checked.text)")
        #expect(try program.run("get", "--plugin", "hello", "hello://world").text == "crc32 of world: 980881731\n")
        let refused = try program.run("get", "--plugin", "hello", "hello:")
        #expect(refused.status == 3 && refused.errors == ["portolan: 'hello:' contains no text; write hello://world"])
        let tested = try make("-C hello test")
        #expect(tested.status == 0 && tested.lines == [".: valid", "all passed"], "\(tested.lines)")
    }

    /// The generated test fails if the plugin's result differs from the expected one.
    @Test func generatedTestCanFail() throws {
        _ = try program.run("new", "plugin", "hello", "--language", "binding")
        let manifest = try #require(program.contents(of: "hello/hello.plugin.json"))
        try program.makeFile("hello/hello.plugin.json", manifest.replacingOccurrences(of: "crc32 of {", with: "CRC of {"))
        let tested = try make("-C hello test")
        #expect(tested.status != 0 && tested.lines.contains { $0.hasSuffix(", got 'CRC of world: 980881731'") }, "\(tested.lines)")
    }

    @Test(.enabled(if: !Program.isSanitized)) func pluginInSwiftBuildsWithTheKitOfThisCheckout() throws {
        let made = try program.run("new", "plugin", "hello", "--language", "swift")
        #expect(made.status == 0, "\(made.errors)")
        let root = PluginConformanceTests.root.resolvingSymlinksInPath().path
        let package = try #require(program.contents(of: "hello/Package.swift"))
        #expect(package.contains("?? \"\(root)/PluginKit\""), "\(package)")
        let built = try make("-C hello")
        #expect(built.status == 0, "\(built.text)")
        let tested = try make("-C hello test")
        #expect(tested.status == 0 && tested.lines == [".: valid", "all passed"], "\(tested.lines)")
        // A stack trace can name the functions of the plugin, although the library exports only its entry.
        let symbols = try program.runScript("nm hello/hello.so; nm -D --defined-only --extern-only hello/hello.so | wc -l")
        #expect(symbols.text.contains("SchemeHandlerV") && symbols.lines.last == "1", "\(symbols.lines.suffix(3))")
        // The kit's folder is not needed after the build.
        let elsewhere = try make("-C hello PORTOLAN_KIT=/nowhere")
        #expect(elsewhere.status == 0, "a finished build is not repeated")
        let missing = try program.runScript("cd hello && touch Package.swift && make -s PORTOLAN_KIT=/nowhere 2>&1")
        #expect(missing.status != 0 && missing.text.contains("/nowhere"), "\(missing.text)")
    }

    /// A copy of the command without its installation has neither headers nor a kit.
    @Test(arguments: ["c", "swift"]) func commandWithoutAKitReportsWhatItNeeds(language: String) throws {
        let made = try program.runScript("mkdir bin && cp \"$portolan\" bin/ && bin/portolan new plugin hello --language \(language)")
        #expect(made.status == 105 && made.errors.count == 1 && made.errors.first?.contains("make install") == true, "\(made.errors)")
        #expect(try program.files == ["bin"])
    }

    @Test func failureIsReportedInOneLine() throws {
        try program.makeFile("old/kept", "text")
        let existing = try program.run("new", "plugin", "old", "--language", "c")
        #expect(existing.status == 23)
        #expect(
            existing.errors == ["portolan: 'old' exists and is not overwritten; choose another name, or run the command in another folder"])
        #expect(try program.files == ["old"])

        let bad = try program.run("new", "plugin", "a/../b", "--language", "c")
        #expect(bad.status == 2 && bad.errors.count == 1)
        #expect(bad.errors.first?.hasPrefix("portolan: the name 'a/../b' is not a URL scheme") == true, "\(bad.errors)")
        let unknown = try program.run("new", "plugin", "hello", "--language", "cobol")
        #expect(unknown.status == 2 && unknown.errors.count == 1, "\(unknown.errors)")
        #expect(try program.files == ["old"])
    }
}
