// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCache

/// A response to POST that answers later requests with GET (RFC 9110 §9.3.3).
@Suite struct StoredPostTests {
    private let world = ManualWorld()

    private func post(_ status: Int, _ lines: [String], _ body: String = "posted") throws {
        let load = try world.start(method: .post)
        let sent = try #require(world.sent.last)
        sent.respond(status, lines[0], lines.count > 1 ? lines[1] : "X: 1", lines.count > 2 ? lines[2] : "X: 2")
        sent.deliver(body)
        sent.finish()
        #expect(load.isComplete && load.body == body)
    }

    @Test(arguments: ["/a", "http://HOST.example:80/a#fragment", "a", ""])
    func responseForItsOwnURLIsStored(location: String) throws {
        try post(200, ["Cache-Control: max-age=60", "Content-Location: \(location)"])
        let load = try world.start()
        #expect(load.isComplete && load.body == "posted" && load.received.response?.source == .cache && world.sent.count == 1)
        // The next POST request is sent.
        try post(200, ["Cache-Control: max-age=60", "Content-Location: /a"], "posted again")
        #expect(world.sent.count == 2)
        #expect(try world.start().body == "posted again")
    }

    @Test(
        arguments: [
            (200, ["Cache-Control: max-age=60"]), (200, ["Cache-Control: max-age=60", "Content-Location: /b"]),
            (200, ["Content-Location: /a", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"]),
            (200, ["Content-Location: /a", "ETag: \"x\""]),
            (201, ["Cache-Control: max-age=60", "Content-Location: /a"]), (404, ["Cache-Control: max-age=60", "Content-Location: /a"]),
            (200, ["Cache-Control: max-age=60, no-store", "Content-Location: /a"]),
            (200, ["Cache-Control: max-age=60", "Content-Location: /a", "Vary: *"]),
        ] as [(Int, [String])])
    func otherResponsesAreNotStored(status: Int, lines: [String]) throws {
        try post(status, lines)
        #expect(try world.entries().isEmpty)
    }

    /// As before, the response to POST removes what is stored.
    @Test func olderResponseIsReplaced() throws {
        try world.start()
        try world.load(0).respond(200, "Cache-Control: max-age=60")
        try world.load(0).deliver("old")
        try world.load(0).finish()
        try post(200, ["Expires: Thu, 01 Jan 2099 00:00:00 GMT", "Content-Location: /a"])
        #expect(try world.start().body == "posted" && world.entries().count == 1)
    }

    /// What is removed while the request is under way is not stored.
    @Test func removalInTheMeantimeCounts() throws {
        try world.start(method: .post)
        world.cache.removeAll()
        let sent = try world.load(0)
        sent.respond(200, "Cache-Control: max-age=60", "Content-Location: /a")
        sent.finish()
        #expect(try world.entries().isEmpty)
    }

    /// A removal by others counts, also if the response causes removals itself.
    @Test func removalByOthersCountsBesidesItsOwn() throws {
        try world.start(method: .post)
        try world.start(method: .delete)
        try world.load(1).respond(204)
        try world.load(1).finish()
        let sent = try world.load(0)
        sent.respond(200, "Cache-Control: max-age=60", "Content-Location: /a", "Location: /b")
        sent.finish()
        #expect(try world.entries().isEmpty)
    }

    /// RFC 9111 §3.3
    @Test func incompleteResponseIsNotStored() throws {
        try world.start(method: .post)
        let sent = try world.load(0)
        sent.respond(200, "Cache-Control: max-age=60", "Content-Location: /a", "ETag: \"x\"", length: 10)
        sent.deliver("12345")
        sent.fail()
        #expect(try world.entries().isEmpty)
    }

    @Test func repeatedContentLocationNamesNoURL() throws {
        try post(200, ["Cache-Control: max-age=60", "Content-Location: /a", "Content-Location: /b"])
        #expect(try world.entries().isEmpty)
    }
}
