// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// The header for plugins in C++, `portolan.hpp`. NewPluginTests has the tests of `portolan new plugin --language c++`.
@Suite(.blocking, .timeLimit(.minutes(10))) struct CPlusPlusTests {
    private let program: Program

    init() throws {
        program = try Program()
    }

    /// The strict host finds what the real host forgives, such as a call after a stop.
    @Test func strictHostFindsNothing() throws {
        try program.copyFixture("cpp.so")
        try program.copyFixture("cpp-host")
        let outcome = try program.runScript("./cpp-host ./cpp.so")
        #expect(outcome.status == 0 && outcome.lines == ["all passed"], "\(outcome.text)\(outcome.errors)")
    }

    private func get(_ url: String, _ options: String...) throws -> Program.Outcome {
        try program.run(["get", "--no-plugins", "--plugin", program.copyFixture("cpp.so"), url] + options)
    }

    @Test func loadsReachTheCaller() throws {
        #expect(try get("cpp:hello").text == "Hello, /world\n")
        #expect(try get("cpp:echo", "-d", "what was sent").text == "what was sent")
        #expect(try get("cpp:twice", "-d", "again").text == "again|again")
        #expect(try get("cpp:nested!data:,there").text == "there")
        #expect(try get("cpp:redirect?to=data:,there").text == "there")
        #expect(try get("cpp:secret", "-u", "guest:sesame").text == "The harbour lies behind the second cape.\n")
    }

    @Test(arguments: [
        ("cpp:throw?what=error", "portolan: nothing is here; try cpp:hello"), ("cpp:throw?what=runtime", "portolan: it went wrong"),
        ("cpp:throw?what=memory", "portolan: the plugin has no memory; load less at the same time"),
        ("cpp:throw?what=number", "portolan: the plugin threw an exception that is no std::exception; ask its author"),
    ])
    func exceptionIsAFailure(url: String, message: String) throws {
        let outcome = try get(url)
        #expect(outcome.status != 0 && outcome.errors == [message], "\(outcome.errors)")
    }

    @Test(arguments: ["c++", "clang++"], [17, 20, 23])
    func headerHasNoWarnings(compiler: String, standard: Int) throws {
        let root = PluginConformanceTests.root.path
        let outcome = try program.runScript(
            """
            command -v \(compiler) >/dev/null || exit 0
            \(compiler) -std=c++\(standard) -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
            -I '\(root)/Sources/CPortolan/include' '\(root)/Tests/PluginFixtures/cpp.cpp' 2>&1
            """)
        #expect(outcome.status == 0 && outcome.text.isEmpty, "\(outcome.text)")
    }

    // MARK: Without memory

    /// Builds the plugin that `new plugin` writes, and refuses each of its allocations.
    ///
    /// - Parameter script: Changes the plugin before the build.
    private func checkWithoutMemory(changedBy script: String = "true") throws -> Program.Outcome {
        #expect(try program.run("new", "plugin", "hello", "--language", "c++").status == 0)
        let build = try program.runScript("unset MAKEFLAGS MFLAGS MAKELEVEL; \(script) && make -s -C hello 2>&1")
        #expect(build.status == 0 && build.text.isEmpty, "\(build.text)")
        return try program.run("check", "hello", "--filter", "FAULT-01", "--verbose")
    }

    @Test(.enabled(if: !Program.isSanitized, "AddressSanitizer ends a process that requests too much"))
    func failedNewFailsTheLoad() throws {
        let outcome = try checkWithoutMemory()
        #expect(outcome.status == 0 && outcome.text.hasPrefix("passed   FAULT-01"), "\(outcome.text)")
    }

    /// An exception that nobody catches ends the process, and so does a use of the NULL of a `new` that throws none.
    /// The variables are volatile, so that the compiler does not leave out the allocation.
    @Test(
        .enabled(if: !Program.isSanitized, "AddressSanitizer ends a process that requests too much"),
        arguments: [
            "static char *volatile list; [] () noexcept { list = new char[100]; }(); delete[] list;",
            "static char *volatile list; list = new (std::nothrow) char[100]; *(char *volatile *)list = list; delete[] list;",
            "struct alignas(64) Wide { char *volatile place; }; static Wide *volatile wide; wide = new (std::nothrow) Wide; "
                + "wide->place = nullptr; delete wide;",
        ])
    func failedNewThatIsNotHandledIsFound(_ statement: String) throws {
        let outcome = try checkWithoutMemory(
            changedBy: "sed -i 's/const std::string text =/\(statement) const std::string text =/' hello/hello.cpp")
        #expect(outcome.status == 111 && outcome.text.hasPrefix("crashed  FAULT-01"), "\(outcome.text)")
    }
}
