// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanJSON
import PortolanTestSupport
import Testing

@testable import PortolanCLI

@Suite struct StdioResponseTests {
    private func json(for response: Response) -> JSONValue {
        StdioResponse.load(id: .null, StdioOutcome(response: response))
    }

    @Test func lengthIsAFieldExceptForDataURLs() throws {
        let file = Response(url: try URLRecord(parsing: "file:///a"), mimeType: .html, textEncodingName: "utf-8", expectedLength: 3)
        #expect(json(for: file)["headers"] == [["content-type", "text/html;charset=utf-8"], ["content-length", "3"]])
        let data = Response(url: try URLRecord(parsing: "data:,abc"), mimeType: .plainASCIIText, expectedLength: 3, status: .ok)
        #expect(json(for: data)["headers"] == [["content-type", "text/plain;charset=US-ASCII"]])
    }

    @Test func urlHasItsFragmentAndNoCredentials() throws {
        #expect(json(for: Response(url: try URLRecord(parsing: "x://user:secret@h/a#f")))["url"] == "x://h/a#f")
        #expect(json(for: Response(url: try URLRecord(parsing: "x://h/a#")))["url"] == "x://h/a#")
    }

    @Test func allCompletePartsAreReported() throws {
        let response = Response(url: try URLRecord(parsing: "x://h/"), mimeType: .plainText)
        var outcome = StdioOutcome(response: response, body: Array("c".utf8))
        #expect(StdioResponse.load(id: .null, outcome)["parts"] == nil)
        outcome.earlierParts = ["a", "b"].map { StdioOutcome.Part(response: response, body: Array($0.utf8)) }
        func bodies() -> [JSONValue?] {
            guard case .array(let parts)? = StdioResponse.load(id: .null, outcome)["parts"] else { return [] }
            return parts.map { $0["body"] }
        }
        #expect(bodies() == ["a", "b", "c"])
        #expect(StdioResponse.load(id: .null, outcome)["body"] == "c")
        outcome.error = LoadError(.truncated, message: "x")
        #expect(bodies() == ["a", "b"])
        #expect(StdioResponse.load(id: .null, outcome)["body"] == .null)
    }
}
