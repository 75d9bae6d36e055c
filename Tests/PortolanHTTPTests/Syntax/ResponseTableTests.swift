// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
@_spi(Fuzzing) import PortolanHTTP
import PortolanHTTPSyntax
import Testing

/// Parses each response of the table: in pieces of any size, truncated, and followed by another response.
@Suite(.timeLimit(.minutes(10))) struct ResponseTableTests {
    private static let shortCases = ResponseTable.all.filter { $0.bytes.count <= 300 }

    /// A program can set any limits.
    @Test(arguments: [Int.min, -1, 0, 1, Int.max]) func anyLimitValueIsAccepted(_ limit: Int) {
        var limits = HTTPLimits()
        (limits.maximumFieldLineBytes, limits.maximumFieldCount, limits.maximumFieldSectionBytes) = (limit, limit, limit)
        (limits.maximumChunkExtensionBytes, limits.maximumChunkExtensionBytesPerBody, limits.maximumTrailerSectionBytes) = (
            limit, limit, limit
        )
        let bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n c\r\n\r\n0001;a\r\nx\r\n0\r\nA: b\r\n\r\n".latin1
        for pieces in [[bytes[...]], bytes.indices.map { bytes[$0...$0] }] {
            let status = (try? InMemoryResponse(pieces, method: .get, limits: limits))?.status
            #expect(status == (limit == Int.max ? 200 : nil))
        }
    }

    @Test(arguments: ResponseTable.all) func responseIsParsedInOnePiece(_ row: ResponseCase) {
        expect(row, result(row, [row.bytes[...]]))
    }

    @Test(arguments: ResponseTable.all) func responseIsParsedByteByByte(_ row: ResponseCase) {
        expect(row, result(row, row.bytes.indices.map { row.bytes[$0...$0] }))
    }

    @Test(arguments: shortCases) func responseIsParsedInTwoPieces(_ row: ResponseCase) {
        let wholeResult = result(row, [row.bytes[...]])
        for cut in row.bytes.indices {
            let splitResult = result(row, [row.bytes[..<cut], row.bytes[cut...]])
            // The message of a bad response quotes the bytes that have arrived, so it differs.
            let isSame = wholeResult.code == .badResponse ? splitResult.code == wholeResult.code : splitResult == wholeResult
            #expect(isSame, "cut before byte \(cut): \(splitResult)")
        }
    }

    /// A missing part is detected, except in a body that ends with the connection.
    @Test(arguments: shortCases) func truncationIsDetected(_ row: ResponseCase) throws {
        let wholeResult = result(row, [row.bytes[...]])
        let neededByteCount = (try? wholeResult.get())?.byteCount ?? row.bytes.count
        for cut in 0..<neededByteCount {
            switch result(row, [row.bytes[..<cut]]) {
            case .failure(let error):
                let allowed: [LoadError.Code] = [.truncated, .emptyResponse] + (wholeResult.code.map { [$0] } ?? [])
                #expect(allowed.contains(error.code), "cut before byte \(cut): \(error)")
            case .success(let parsed):
                let wholeResponse = try wholeResult.get()
                #expect(
                    parsed.endsAtClose && wholeResponse.endsAtClose && wholeResponse.body.starts(with: parsed.body),
                    "cut before byte \(cut)")
            }
        }
    }

    @Test(arguments: ResponseTable.all) func bytesAfterTheResponseAreNotParsed(_ row: ResponseCase) {
        guard case .response(let expected) = row.outcome, !expected.endsAtClose else { return }
        let bytesWithNextResponse = row.bytes + "HTTP/1.1 599 Next\r\n\r\n".latin1
        expect(row, result(row, [bytesWithNextResponse[...]]))
    }

    /// The parser reuses the parsed lines of the previous head if they are equal. No other line of it appears in the
    /// next head.
    @Test(arguments: Array(zip(shortCases, [shortCases[0]] + shortCases)))
    func responseIsParsedAfterAnotherOne(_ row: ResponseCase, _ other: ResponseCase) {
        for earlier in [row.bytes, other.bytes, other.bytes + row.bytes] {
            expect(row, result(row, [row.bytes[...]], after: earlier))
            expect(row, result(row, row.bytes.indices.map { row.bytes[$0...$0] }, after: earlier))
        }
    }

    @Test func caseNamesAreUnique() {
        #expect(Set(ResponseTable.all.map { "\($0.section) \($0.name) \($0.bytes.count)" }).count == ResponseTable.all.count)
        #expect(ResponseTable.all.count >= 150)
    }

    /// Parses the pieces, after the bytes of an earlier response.
    private func result(
        _ row: ResponseCase, _ pieces: [ArraySlice<UInt8>], after earlier: [UInt8] = []
    ) -> Result<InMemoryResponse, LoadError> {
        do throws(LoadError) {
            return .success(try InMemoryResponse(pieces, method: row.method, after: earlier))
        } catch {
            return .failure(error)
        }
    }

    /// Expects that the result is the outcome of the row.
    private func expect(_ row: ResponseCase, _ result: Result<InMemoryResponse, LoadError>) {
        switch (row.outcome, result) {
        case (.response(let expected), .success(let parsed)):
            #expect(parsed.status == expected.status)
            #expect(parsed.body == expected.body)
            #expect(parsed.trailers == expected.trailers)
            #expect(parsed.interim == expected.interim)
            #expect(parsed.isReusable == expected.isReusable)
            #expect(parsed.endsAtClose == expected.endsAtClose)
            #expect(parsed.byteCount == row.bytes.count)
            if let fields = expected.fields { #expect(parsed.fields == fields) }
        case (.failure(let code), .failure(let error)):
            #expect(error.code == code, "\(error)")
        case (.response, .failure(let error)):
            Issue.record("failed, but a response was expected: \(error)")
        case (.failure(let code), .success(let parsed)):
            Issue.record("parsed, but \(code) was expected: \(parsed)")
        }
    }
}

extension Result where Success == InMemoryResponse, Failure == LoadError {
    fileprivate var code: LoadError.Code? {
        guard case .failure(let error) = self else { return nil }
        return error.code
    }
}
