// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
@_spi(Fuzzing) import PortolanHTTP
import PortolanHTTPSyntax
import Testing

/// Each response of the table in pieces of any size, cut anywhere, and followed by another response.
@Suite(.timeLimit(.minutes(10))) struct ResponseTableTests {
    private static let small = ResponseTable.all.filter { $0.bytes.count <= 300 }

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

    @Test(arguments: ResponseTable.all) func responseIsReadWhole(_ row: ResponseCase) {
        expect(row, result(row, [row.bytes[...]]))
    }

    @Test(arguments: ResponseTable.all) func responseIsReadByteByByte(_ row: ResponseCase) {
        expect(row, result(row, row.bytes.indices.map { row.bytes[$0...$0] }))
    }

    @Test(arguments: small) func responseIsReadInTwoPieces(_ row: ResponseCase) {
        let whole = result(row, [row.bytes[...]])
        for cut in row.bytes.indices {
            let halves = result(row, [row.bytes[..<cut], row.bytes[cut...]])
            // A start that is not HTTP is refused immediately. The message quotes the bytes that have arrived.
            let isSame = whole.code == .badResponse ? halves.code == whole.code : halves == whole
            #expect(isSame, "cut before byte \(cut): \(halves)")
        }
    }

    /// A missing part is detected, except in a body that ends with the connection.
    @Test(arguments: small) func truncationIsDetected(_ row: ResponseCase) throws {
        let whole = result(row, [row.bytes[...]])
        let needed = (try? whole.get())?.byteCount ?? row.bytes.count
        for cut in 0..<needed {
            switch result(row, [row.bytes[..<cut]]) {
            case .failure(let error):
                let allowed: [LoadError.Code] = [.truncated, .emptyResponse] + (whole.code.map { [$0] } ?? [])
                #expect(allowed.contains(error.code), "cut before byte \(cut): \(error)")
            case .success(let read):
                let all = try whole.get()
                #expect(read.endsAtClose && all.endsAtClose && all.body.starts(with: read.body), "cut before byte \(cut)")
            }
        }
    }

    @Test(arguments: ResponseTable.all) func bytesAfterTheResponseAreNotRead(_ row: ResponseCase) {
        guard case .response(let delivered) = row.outcome, !delivered.endsAtClose else { return }
        let glued = row.bytes + "HTTP/1.1 599 Next\r\n\r\n".latin1
        expect(row, result(row, [glued[...]]))
    }

    /// The parser reuses lines of the previous head. None of them appears in the next head.
    @Test(arguments: Array(zip(small, [small[0]] + small)))
    func responseIsReadAfterAnother(_ row: ResponseCase, _ other: ResponseCase) {
        for earlier in [row.bytes, other.bytes, other.bytes + row.bytes] {
            expect(row, result(row, [row.bytes[...]], after: earlier))
            expect(row, result(row, row.bytes.indices.map { row.bytes[$0...$0] }, after: earlier))
        }
    }

    @Test func caseNamesAreUnique() {
        #expect(Set(ResponseTable.all.map { "\($0.section) \($0.name) \($0.bytes.count)" }).count == ResponseTable.all.count)
        #expect(ResponseTable.all.count >= 150)
    }

    private func result(
        _ row: ResponseCase, _ pieces: [ArraySlice<UInt8>], after earlier: [UInt8] = []
    ) -> Result<InMemoryResponse, LoadError> {
        do throws(LoadError) {
            return .success(try InMemoryResponse(pieces, method: row.method, after: earlier))
        } catch {
            return .failure(error)
        }
    }

    private func expect(_ row: ResponseCase, _ result: Result<InMemoryResponse, LoadError>) {
        switch (row.outcome, result) {
        case (.response(let delivered), .success(let read)):
            #expect(read.status == delivered.status)
            #expect(read.body == delivered.body)
            #expect(read.trailers == delivered.trailers)
            #expect(read.interim == delivered.interim)
            #expect(read.isReusable == delivered.isReusable)
            #expect(read.endsAtClose == delivered.endsAtClose)
            #expect(read.byteCount == row.bytes.count)
            if let fields = delivered.fields { #expect(read.fields == fields) }
        case (.failure(let code), .failure(let error)):
            #expect(error.code == code, "\(error)")
        case (.response, .failure(let error)):
            Issue.record("failed, but a response was expected: \(error)")
        case (.failure(let code), .success(let read)):
            Issue.record("read, but \(code) was expected: \(read)")
        }
    }
}

extension Result where Success == InMemoryResponse, Failure == LoadError {
    fileprivate var code: LoadError.Code? {
        guard case .failure(let error) = self else { return nil }
        return error.code
    }
}
