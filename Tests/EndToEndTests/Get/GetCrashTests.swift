// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// A plugin that crashes ends `get`. One line says which plugin crashed, with which signal and in which call.
@Suite(.blocking, .timeLimit(.minutes(5)), .enabled(if: !Program.isSanitized, "AddressSanitizer reports the crash itself"))
struct GetCrashTests {
    private let program: Program
    private static let more = "; -v shows the stack, and 'portolan check' the calls that led to it"

    init() throws { program = try Program() }

    /// Loads a URL by the good subject, in which the function that `line` begins executes `code` first.
    private func load(_ url: String, inserting code: String, after line: String, _ arguments: String...) throws -> Program.Outcome {
        try makePlugin(inserting: code, after: line)
        return try program.run(["get", "--plugin", "plugin/good.so", url] + arguments)
    }

    private func makePlugin(inserting code: String, after line: String) throws {
        let include = Mutant.source.appendingPathComponent("../../../Sources/CPortolan/include").path
        try program.makeFile("plugin/inserted.h", code)
        let made = try program.runScript(
            """
            cd plugin && cp '\(Mutant.source.path)'/*.[ch] . &&
            echo '__attribute__((constructor)) static void use(void) {
            }' >> mutant.c && grep -qF '\(line)' *.[ch] &&
            sed -i '/\(line.replacing("*", with: "[*]"))$/a #include "inserted.h"' mutant.c instance.h blocking-loads.h &&
            cc -std=gnu11 -w -shared -fPIC -pthread -fvisibility=hidden -I '\(include)' mutant.c -o good.so
            """)
        try #require(made.status == 0, "\(made.errors)")
    }

    @Test(arguments: [
        ("static void serve_bytes(subject_load *load) {", "*(volatile int *)8 = 1;", "SIGSEGV in run", SIGSEGV),
        (
            "static void serve_bytes(subject_load *load) {", "((void (*)(void))0)();", "SIGSEGV in a call of a NULL function pointer",
            SIGSEGV
        ),
        (
            "static void serve_bytes(subject_load *load) {", "((void (*)(void))0x10)();",
            "SIGSEGV in a call of an invalid function pointer", SIGSEGV
        ),
        // An address that no program can have. Intel's processors report the call, and not the address.
        (
            "static void serve_bytes(subject_load *load) {", "((void (*)(void))0x4141414141414141)();",
            "SIGSEGV in a call of an invalid function pointer", SIGSEGV
        ),
        (
            "static void serve_bytes(subject_load *load) {",
            "struct { long a; void (*call)(void); } table = { 0, (void *)0x4141414141414141 }, *volatile place = &table; place->call();",
            "SIGSEGV in a call of an invalid function pointer", SIGSEGV
        ),
        (
            "static void serve_bytes(subject_load *load) {",
            "int descend(int n) { volatile int m = n; return descend(m + 1) + m; } descend(0);",
            "SIGSEGV, because its stack overflowed", SIGSEGV
        ),
        ("static void serve_bytes(subject_load *load) {", "abort();", "SIGABRT in run", SIGABRT),
        ("static void serve_bytes(subject_load *load) {", "raise(SIGFPE);", "SIGFPE in run", SIGFPE),
        ("static void *init(portolan_host *host, portolan_refusal *refusal) {", "memset((void *)8, 0, 64);", "SIGSEGV in init", SIGSEGV),
    ])
    func crashIsOneLine(_ line: String, _ code: String, _ place: String, _ signal: Int32) throws {
        let outcome = try load("subject://bytes", inserting: code, after: line)
        #expect(outcome.status == signal)
        #expect(outcome.errors == ["portolan: the plugin org.portolan.subject crashed with \(place)\(Self.more)"])
    }

    /// A stack that can't be unwound must not crash the report itself.
    @Test(arguments: [
        "char *frame = __builtin_frame_address(0); memset(frame, 'A', 4096); return;",
        "((void **)__builtin_frame_address(0))[1] = (void *)0x4141414141414141; ((void **)__builtin_frame_address(0))[0] = (void *)8; return;",
    ])
    func crashWithADamagedStackIsReported(code: String) throws {
        let outcome = try load("subject://bytes", inserting: code, after: "static void serve_bytes(subject_load *load) {")
        #expect(outcome.status == SIGSEGV && outcome.errors.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.first?.contains("crashed with SIGSEGV") == true && outcome.errors.first?.contains("plugin") == true)
    }

    @Test func crashOnTheThreadOfThePluginIsNamed() throws {
        let outcome = try load(
            "subject://thread/x", inserting: "*(volatile int *)8 = 1;", after: "static void *write_greeting_on_thread(void *pointer) {")
        #expect(outcome.errors == ["portolan: the plugin org.portolan.subject crashed with SIGSEGV on a thread of its own\(Self.more)"])
    }

    @Test("check says that a thread of the plugin may have overflowed its stack, which no handler can report")
    func overflowOfTheStackOfAThreadOfThePlugin() throws {
        try makePlugin(
            inserting: "int descend(int n) { volatile int m = n; return descend(m + 1) + m; } descend(0);",
            after: "static void *write_greeting_on_thread(void *pointer) {")
        try FileManager.default.copyItem(
            at: Mutant.folder.appendingPathComponent("good.plugin.json"),
            to: program.folder.appendingPathComponent("plugin/good.plugin.json"))
        let outcome = try program.run("check", "plugin/good.plugin.json", "--filter", "ORDER-02")
        #expect(outcome.status == 111 && outcome.text.contains("crashed  ORDER-02"), "\(outcome.text)")
        #expect(outcome.text.contains("perhaps because the stack of a plugin thread overflowed"), "\(outcome.text)")
    }

    @Test func crashInAConstructorNamesTheLibrary() throws {
        let outcome = try load("subject://bytes", inserting: "*(volatile int *)8 = 1;", after: "static void use(void) {")
        #expect(outcome.errors == ["portolan: the plugin library 'plugin/good.so' crashed with SIGSEGV while it was opened\(Self.more)"])
    }

    @Test(arguments: [("-s", true), ("-sS", false)])
    func silentOutputHasNoLine(_ option: String, _ isSilent: Bool) throws {
        let outcome = try load(
            "subject://bytes", inserting: "*(volatile int *)8 = 1;", after: "static void serve_bytes(subject_load *load) {", option)
        #expect(outcome.status == SIGSEGV && outcome.errors.isEmpty == isSilent, "\(outcome.errors)")
    }

    /// A load's thread has a separate stack for the signal handler there, too.
    @Test(arguments: [
        ("int descend(int n) { volatile int m = n; return descend(m + 1) + m; } descend(0);", "descend"),
        ("((void (*)(void))0x10)();", "serve_bytes"), ("((void (*)(void))0)();", "serve_bytes"),
    ])
    func checkShowsTheStack(_ code: String, _ name: String) throws {
        _ = try load("subject://bytes", inserting: code, after: "static void serve_bytes(subject_load *load) {")
        #expect(try program.runScript("cp '\(Mutant.folder.path)/good.plugin.json' plugin/").status == 0)
        let outcome = try program.run("check", "plugin/good.plugin.json", "--filter", "BODY-01")
        #expect(outcome.text.hasPrefix("crashed  BODY-01") && outcome.text.contains(name), "\(outcome.text)")
    }

    @Test func verboseOutputHasTheStack() throws {
        let outcome = try load(
            "subject://bytes", inserting: "*(volatile int *)8 = 1;", after: "static void serve_bytes(subject_load *load) {", "-v")
        let index = try #require(outcome.errors.firstIndex(of: "portolan: the plugin org.portolan.subject crashed with SIGSEGV in run:"))
        let stack = outcome.errors.dropFirst(index + 1)
        #expect(stack.first?.contains("good.so(+0x") == true && stack.count > 3, "\(outcome.errors)")
    }

    /// A report contains the stack as findings, and no output of Swift's runtime.
    @Test func checkPrintsNoBacktraceOfTheRuntime() throws {
        _ = try load("subject://bytes", inserting: "*(volatile int *)8 = 1;", after: "static void serve_bytes(subject_load *load) {")
        let copied = try program.runScript("cp '\(Mutant.folder.path)/good.plugin.json' plugin/")
        #expect(copied.status == 0)
        let outcome = try program.run(
            ["check", "plugin/good.plugin.json", "--filter", "BODY-01"], with: ["SWIFT_BACKTRACE": "enable=yes,color=no,interactive=no"])
        #expect(outcome.text.hasPrefix("crashed  BODY-01"), "\(outcome.text)")
        #expect(outcome.errors == [])
        #expect(!outcome.text.contains("Program crashed") && !outcome.text.contains("Backtrace"), "\(outcome.text)")
    }
}
