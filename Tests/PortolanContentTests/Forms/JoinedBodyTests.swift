// SPDX-License-Identifier: Apache-2.0

import PortolanContent
import PortolanCore
import Testing

@Suite(.timeLimit(.minutes(2))) struct JoinedBodyTests {
    @Test(arguments: [1, 2, 3, 100])
    func partsAreReadInOrder(capacity: Int) async throws {
        let body = Body.joining([.text("a=1"), .text("&"), .text(""), .text("b")])
        #expect(body.length == 5 && body.isRewindable)
        for _ in 0..<2 { #expect(try await body.text(capacity: capacity) == "a=1&b") }
    }

    @Test func singlePartIsUnchanged() async throws {
        #expect(try await Body.joining([.text("a")]).text() == "a")
        #expect(try await Body.joining([]).text() == "")
    }

    @Test func partWithoutALengthOrReadOnceAppliesToTheWholeBody() {
        let pipe = BodyWriter()
        let body = Body.joining([.text("a"), pipe.body()])
        #expect(body.length == nil && !body.isRewindable)
        let endless = Body(length: .max, isRewindable: true) { () throws(LoadError) in try Body.text("").makeReader() }
        #expect(Body.joining([endless, .text("ab")]).length == nil)
    }

    @Test func failingPartFailsTheBody() async throws {
        let failingBody = Body(length: nil, isRewindable: true) { () throws(LoadError) in throw LoadError(.bodyFailed, message: "gone") }
        let error = try await #require(throws: LoadError.self) { try await Body.joining([.text("a"), failingBody]).text() }
        #expect(error.message == "gone")
    }
}
