// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanContent

@Suite(.timeLimit(.minutes(5))) struct JSONLinesTests {
    @Test(
        arguments: [
            ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("a\rb\n", ["a\rb"]),
            ("\n\nab\n", ["", "", "ab"]), ("\r\n\r", ["", ""]), ("éé\n", ["éé"]),
        ])
    func linesDoNotDependOnThePieces(text: String, lines: [String]) throws {
        for division in divisions(of: Array(text.utf8)) {
            var splitter = LineSplitter(limit: 4)
            var result = division.flatMap { splitter.append($0) }
            if let last = try splitter.finish() { result.append(last) }
            #expect(result.map { String(decoding: $0, as: UTF8.self) } == lines, "\(division)")
        }
    }

    @Test func longLineIsAnError() throws {
        let table = [
            ("12345\n", true), ("12345", true), ("1\n1234\r\n", false), ("1234\r", false), ("1234\rx", true), ("1\n12345\r\n", true),
        ]
        for (text, isTooLong) in table {
            for division in divisions(of: Array(text.utf8)) {
                let result = Result {
                    var splitter = LineSplitter(limit: 4)
                    for piece in division { _ = splitter.append(piece) }
                    if let failure = splitter.failure { throw failure }
                    _ = try splitter.finish()
                }
                #expect(((try? result.get()) == nil) == isTooLong, "\(division)")
            }
        }
    }

    private func values(_ pieces: [String]) async throws -> [Int] {
        let loader = loader(StubHandler { _ in .pieces(pieces.map { Array($0.utf8) }) })
        var values: [Int] = []
        for try await value in try await loader.jsonLines(of: Int.self, from: "x://h/") { values.append(value) }
        return values
    }

    @Test func valuesArriveInOrder() async throws {
        #expect(try await values(["1\n2", "3\n\n \t\r\n", "4\r\n5"]) == [1, 23, 4, 5])
        #expect(try await values(["\u{FEFF}1\n", "2\n"]) == [1, 2])
        #expect(try await values([]) == [])
    }

    @Test(arguments: ["1\nx\n2\n", "1\n\"2\"\n", "1\n2 3\n"])
    func lineThatIsNoValueEndsTheSequence(text: String) async throws {
        let loader = loader(StubHandler { _ in .pieces([Array(text.utf8)]) })
        var iterator = try await loader.jsonLines(of: Int.self, from: "x://h/").makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        await #expect(throws: DecodingError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test func limitAppliesToEachLine() async throws {
        let loader = loader(StubHandler { _ in .text("1\n22222\n") })
        var iterator = try await loader.jsonLines(of: Int.self, from: "x://h/", maximumLineSize: 4).makeAsyncIterator()
        // The lines before it are there, also if they have arrived in one piece with it.
        #expect(try await iterator.next() == 1)
        let error = await #expect(throws: LoadError.self) { try await iterator.next() }
        #expect(error?.code == .limitExceeded)
        #expect(try await iterator.next() == nil)
    }

    @Test func requestAsksForLines() async throws {
        let loader = loader(StubHandler { .text("\"\($0.field("Accept") ?? "")\"") })
        var iterator = try await loader.jsonLines(of: String.self, from: "x://h/").makeAsyncIterator()
        #expect(try await iterator.next() == "application/jsonl, application/x-ndjson")
    }
}
