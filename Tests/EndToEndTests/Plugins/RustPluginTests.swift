// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

private let hasRust = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .contains { FileManager.default.isExecutableFile(atPath: "\($0)/rustc") }

/// The kit for plugins in Rust, with the command and without it.
@Suite(.blocking, .timeLimit(.minutes(10)), .enabled(if: hasRust, "needs rustc")) struct RustPluginTests {
    private let program: Program
    private let root = PluginConformanceTests.root.resolvingSymlinksInPath().path

    init() throws {
        program = try Program()
    }

    /// Runs make as a user does, without the variables of a make that runs this test.
    private func make(_ arguments: String) throws -> Program.Outcome {
        try program.runScript("unset MAKEFLAGS MFLAGS MAKELEVEL; make -s \(arguments) 2>&1")
    }

    // MARK: A new plugin

    /// Some names are keywords of Rust.
    @Test(arguments: ["hello", "a+b-2.x", "fn", "crate", "self"]) func newPluginBuildsAndLoads(name: String) throws {
        let newOutcome = try program.run("new", "plugin", name, "--language", "rust")
        #expect(newOutcome.status == 0 && newOutcome.lines.first == "\(name)/ is a plugin in Rust; next:", "\(newOutcome.errors)")
        let build = try make("-C \(name) CARGO= RUSTC='rustc -D warnings'")
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
        let symbols = try program.runScript("nm -D --defined-only --extern-only '\(name)/\(name).so'")
        #expect(symbols.lines.count == 1 && symbols.text.hasSuffix(" T portolan_plugin_entry\n"), "\(symbols.lines)")
        let testOutcome = try make("-C \(name) CARGO= test")
        #expect(testOutcome.status == 0 && testOutcome.lines == [".: valid", "all passed"], "\(testOutcome.lines)")
    }

    /// The page shows one complete plugin, in its first block of Rust.
    @Test func pluginOfThePageCompilesAndLoads() throws {
        #expect(try program.run("new", "plugin", "hello", "--language", "rust").status == 0)
        let block = try program.runScript(
            """
            awk '/^```rust$/ { inBlock = !seen; seen = 1; next } /^```$/ { inBlock = 0 } inBlock' \
                '\(root)/Sources/Portolan/Portolan.docc/plugin-in-rust.md' > hello/src/lib.rs
            """)
        #expect(block.status == 0, "\(block.errors)")
        let build = try make("-C hello CARGO= RUSTC='rustc -D warnings'")
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
        #expect(try program.run("get", "--plugin", "hello", "hello://world").text == "Hello, world!\n")
    }

    // MARK: The kit

    @Test func bindingsHaveTheLayoutsOfTheContract() throws {
        let outcome = try program.runScript(
            "'\(root)/scripts/rust-layouts.py' > layouts.rs && rustc -D warnings --edition 2021 layouts.rs && ./layouts")
        #expect(outcome.status == 0 && outcome.text.hasSuffix(" layouts and numbers are equal\n"), "\(outcome.text) \(outcome.errors)")
    }

    @Test func layoutsThatDifferAreReported() throws {
        let outcome = try program.runScript(
            """
            sed 's/pub mime_type:/pub swapped:/; s/pub text_encoding:/pub mime_type:/; s/pub swapped:/pub text_encoding:/' \
                '\(root)/PluginKit/Rust/abi.rs' > abi.rs
            '\(root)/scripts/rust-layouts.py' '\(root)/Sources/CPortolan/abi_check.c' abi.rs > layouts.rs
            rustc --edition 2021 layouts.rs && ./layouts
            """)
        #expect(outcome.status == 1)
        #expect(outcome.lines.first == "the offset of portolan_response.mime_type: 40 in Rust, 24 in C", "\(outcome.lines)")
        let unknownLine = try program.runScript(
            """
            echo 'WIDTH(portolan_error, 3);' > check.c
            '\(root)/scripts/rust-layouts.py' check.c '\(root)/PluginKit/Rust/abi.rs'
            """)
        #expect(unknownLine.status == 1 && unknownLine.text.isEmpty && unknownLine.errors.count == 1, "\(unknownLine.errors)")
    }

    @Test func functionsOfTheKitPassTheirTests() throws {
        let outcome = try program.runScript(
            "rustc -D warnings --edition 2021 --test '\(root)/Tests/PluginFixtures/rust/kit-tests.rs' -o kit-tests && ./kit-tests")
        #expect(outcome.status == 0 && outcome.text.contains("test result: ok."), "\(outcome.text) \(outcome.errors)")
    }

    // MARK: Mistakes of an author

    /// Builds the plugin whose URLs are mistakes, in the folders `mistakes` and `others`: the same library twice, with
    /// different identifiers and schemes.
    private func buildMistakes() throws {
        for name in ["mistakes", "others"] {
            try program.makeFile(
                "\(name)/\(name).plugin.json",
                """
                { "identifier": "org.example.\(name)", "name": "Mistakes", "vendor": "Example", "version": "0.1.0", "library": "\(name).so",
                  "schemes": ["\(name)"], "hostVersions": ">=0.1.0 <1.0.0", "settings": { "start": { "type": "string", "default": "" } },
                  "conformance": { "loads": [
                    { "url": "\(name):x", "tags": ["empty"] }, { "url": "\(name):domain", "error": "unknown", "tags": ["fails"] }
                  ] } }
                """)
        }
        // The kit keeps its relative path from the source.
        let build = try program.runScript(
            """
            mkdir -p PluginKit Tests/PluginFixtures/rust && cp -RL '\(root)/PluginKit/Rust' PluginKit/Rust
            source=Tests/PluginFixtures/rust/mistakes.rs
            cp "\(root)/$source" "$source" && rustc -D warnings --edition 2021 --crate-type cdylib "$source" -o mistakes/mistakes.so
            sed -i 's/org.example.mistakes/org.example.others/; s/\\["mistakes"\\]/["others"]/' "$source"
            rustc -D warnings --edition 2021 --crate-type cdylib "$source" -o others/others.so
            """)
        #expect(build.status == 0 && build.errors.isEmpty, "\(build.errors)")
    }

    @Test func mistakesAreFailedLoadsWithTheirMessages() throws {
        try buildMistakes()
        let expectations: [(path: String, message: String)] = [
            ("panic", "the plugin panicked: no luck with\u{FFFD}7; ask its author"),
            ("payload", "the plugin panicked: a value that is not text; ask its author"),
            ("drop", "the plugin panicked: no luck in a destructor; ask its author"),
            ("thread", "the thread failed: true"),
            ("nested", "the plugin panicked: a nested load is open; ask its author"),
            (
                "silent",
                "the plugin's load function returned Ok without a response, which breaks ORDER-01; "
                    + "call did_receive with a Response, or return an Error"
            ),
            (
                "twice",
                "did_receive was called twice, which breaks ORDER-08; deliver one response, or set the flag multipart in export!"
            ),
            ("early", "did_load was called before did_receive, which breaks ORDER-01; call did_receive with a Response first"),
            (
                "short",
                "the body has 0 bytes, fewer than the response's expected_length (4), which breaks BODY-02; "
                    + "deliver all bytes, or return an Error if the source ended early"
            ),
            (
                "long",
                "the body has more bytes than the response's expected_length (4), which breaks BODY-02; "
                    + "give the right length, or None"
            ),
            (
                "field",
                "the field 'X-A' is malformed (SEC-08): the name must be a token, and the value must not contain NUL, CR, LF "
                    + "or another control character"
            ),
            (
                "type",
                "the response's MIME type 'text/plain;charset=utf-8' is not of the form type/subtype without parameters, "
                    + "which breaks BODY-09"
            ),
            ("message", "a\u{FFFD}b" + String(repeating: "é", count: 2045)),
            ("domain", "x"),
        ]
        for (path, message) in expectations {
            let outcome = try program.run("get", "--plugin", "mistakes", "mistakes:\(path)")
            #expect(outcome.status != 0 && outcome.errors == ["portolan: \(message)"], "\(path): \(outcome.errors)")
        }
        // The kit closes a nested load that the plugin has leaked.
        #expect(try program.run("get", "--plugin", "mistakes", "mistakes:leak").errors.isEmpty)
    }

    @Test func panicAtTheStartIsARefusal() throws {
        try buildMistakes()
        let outcome = try program.run(
            "get", "--plugin", "mistakes", "--setting", "org.example.mistakes:start=panics", "mistakes:x")
        #expect(
            outcome.status == 108
                && outcome.errors == [
                    "portolan: the plugin org.example.mistakes refused to start: "
                        + "the plugin panicked: no start, 2 times; ask its author"
                ], "\(outcome.errors)")
    }

    @Test func panicInCanInitMeansNo() throws {
        try buildMistakes()
        let outcome = try program.run("get", "--plugin", "mistakes", "mistakes:choice")
        #expect(outcome.status == 1 && outcome.errors.count == 1, "\(outcome.errors)")
    }

    @Test func panicAtTheEndHarmsNobody() throws {
        try buildMistakes()
        let manifest = try #require(program.contents(of: "mistakes/mistakes.plugin.json"))
        try program.makeFile(
            "mistakes/mistakes.plugin.json", manifest.replacingOccurrences(of: "\"default\": \"\"", with: "\"default\": \"panics at end\""))
        let outcome = try program.run("check", "--filter", "UNLOAD,REG-05", "mistakes")
        #expect(outcome.status == 0, "\(outcome.text)")
    }

    /// The hook that replaces Rust's own belongs to one library.
    @Test func panicsOfTwoPluginsAreInTheLog() throws {
        try buildMistakes()
        let outcome = try program.run(
            "get", "-v", "--plugin", "mistakes", "--plugin", "others", "mistakes:panic", "others:panic", "mistakes:thread")
        let panics = outcome.errors.filter { $0.contains("the plugin panicked at ") }
        #expect(panics.count == 3, "\(outcome.errors)")
        #expect(panics.allSatisfy { $0.contains("mistakes.rs:") && $0.contains(": no luck ") }, "\(panics)")
        #expect(!outcome.errors.contains { $0.hasPrefix("thread '") }, "\(outcome.errors)")
    }
}
