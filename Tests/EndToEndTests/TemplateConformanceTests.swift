// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Tests Template through the command line, beyond the URLs of its manifest.
@Suite(.blocking) struct TemplateConformanceTests {
    @Test func responseToHEADHasNoBody() throws {
        let program = try Program()
        let library = try program.copyFixture("template.so")
        let outcome = try program.run("get", "-I", "--plugin", library, "template://greet/World")
        #expect(outcome.text == "content-type: text/plain;charset=utf-8\ncontent-length: 14\n\n")
        #expect(outcome.status == 0)
        let events = try program.run(
            "get", "--events", "-v", "-X", "HEAD", "--plugin", library, "template://secret", "-u", "guest:sesame")
        #expect(events.lines.last?.contains(#""event":"finished""#) == true)
    }

    @Test(arguments: ["http://u:s3cr3t@x%20y/", "//u:s3cr3t@x", "u:s3cr3t@%zz"])
    func refusedRedirectDoesNotQuoteThePassword(target: String) throws {
        let program = try Program()
        let outcome = try program.run("get", "--plugin", program.copyFixture("template.so"), "template://redirect?to=\(target)")
        #expect(outcome.status == 3)
        #expect(outcome.errors.count == 1 && outcome.errors.first?.contains("s3cr3t") == false, "\(outcome.errors)")
    }
}
