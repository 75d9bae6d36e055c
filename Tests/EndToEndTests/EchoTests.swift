// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Uses Echo through the command line.
@Suite(.blocking) struct EchoTests {
    private func get(_ url: String, _ options: String...) throws -> Program.Outcome {
        let program = try Program()
        return try program.run(["get", "--plugin", program.copyFixture("echo.so"), url] + options)
    }

    @Test func redirectIsFollowedAndReported() throws {
        let outcome = try get("echo:redirect?to=data:,there", "-v")
        #expect(outcome.text == "there")
        #expect(outcome.errors.contains { $0.contains("redirected (302) to 'data:,there'") })
    }

    @Test func headIsPrinted() throws {
        let outcome = try get("echo:size?bytes=1099511627776&status=404&field=X-Sea:calm", "-I")
        #expect(outcome.status == 0)
        #expect(outcome.lines.first == "404")
        #expect(outcome.lines.contains("x-sea: calm"))
        #expect(outcome.lines.contains("content-length: 1099511627776"))
    }

    @Test func sentRequestIsReported() throws {
        let outcome = try get("echo:", "-X", "PUT", "-H", "X-Sea: calm", "-d", "ahoy")
        #expect(outcome.text.contains(#""url":"echo:","method":"PUT""#))
        #expect(outcome.text.contains(#"["X-Sea","calm"]"#))
        #expect(outcome.text.contains(#""body":"ahoy","bodyBase64":null,"length":4"#))
    }

    @Test(
        arguments: [
            ("echo:challenge?user=u&password=p", "u:q", 67), ("echo:challenge?user=u&password=p", "u:p", 0), ("echo:loop", "u:p", 47),
            ("echo:redirect?to=file:///etc/hostname", "u:p", 1), ("echo:size?bytes=10&cut=3", "u:p", 18), ("echo:size", "u:p", 3),
            ("echo:fail?code=1&domain=org.example.tide", "u:p", 109),
        ] as [(String, String, Int32)])
    func eachFailureHasItsExitStatus(_ url: String, _ credential: String, _ status: Int32) throws {
        let outcome = try get(url, "-u", credential)
        #expect(outcome.status == status)
        #expect(outcome.errors.count == (status == 0 ? 0 : 1))
    }
}
