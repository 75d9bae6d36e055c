// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanHTTP
import PortolanHTTPSyntax

/// Reads a response with the parsers of http:. The result must match ``ResponseReference`` for any division of the
/// bytes into pieces.
///
/// The first byte of the input selects the request's method and the limits; the second selects the division into
/// pieces.
enum ResponseOracle {
    /// - Parameter start: bytes to put before those of the input.
    static func check(_ input: [UInt8], after start: String = "") throws(FuzzFinding) {
        var source = ByteSource(input)
        let mode = source.next()
        let seed = source.next()
        let bytes = Array(start.utf8) + source.takeRest()
        let method = [HTTPRequest.Method.get, .head, .connect, .get][Int(mode & 3)]
        let limits = mode & 4 == 0 ? HTTPLimits() : smallLimits
        let expected = ResponseReference(bytes, method: method, limits: limits).outcome
        let whole = outcome([bytes[...]], method, limits)
        try require(whole == expected, "read whole, the result is \(whole) instead of \(expected)")
        let bytewise = outcome(bytes.indices.map { bytes[$0...$0] }, method, limits)
        try require(bytewise == expected, "read byte by byte, the result is \(bytewise) instead of \(expected)")
        let scattered = outcome(pieces(of: bytes, seed), method, limits)
        try require(scattered == expected, "read in pieces by \(seed), the result is \(scattered) instead of \(expected)")
        // Reads the response after another one, which differs from it in at most one byte.
        var earlier = bytes
        if !bytes.isEmpty { earlier[Int(seed) % bytes.count] ^= mode >> 3 }
        let resultAfterEarlier = outcome(pieces(of: bytes, ~seed), method, limits, after: earlier)
        try require(
            resultAfterEarlier == expected,
            "read after \(String(decoding: earlier, as: UTF8.self).debugDescription), the result is \(resultAfterEarlier) instead of \(expected)"
        )
    }

    private static let smallLimits: HTTPLimits = {
        var limits = HTTPLimits()
        (limits.maximumStatusLineBytes, limits.maximumFieldLineBytes, limits.maximumFieldCount, limits.maximumFieldSectionBytes) = (
            24, 40, 4, 100
        )
        (
            limits.maximumInterimResponsesPerResponse, limits.maximumChunkExtensionBytes, limits.maximumChunkExtensionBytesPerBody,
            limits.maximumTrailerSectionBytes
        ) = (2, 6, 12, 60)
        return limits
    }()

    private static func outcome(
        _ pieces: [ArraySlice<UInt8>], _ method: HTTPRequest.Method, _ limits: HTTPLimits, after earlier: [UInt8] = []
    ) -> ResponseOutcome {
        do throws(LoadError) {
            let response = try InMemoryResponse(pieces, method: method, limits: limits, after: earlier)
            return .response(
                ResponseMeaning(
                    interim: response.interim, status: response.status, fields: response.fields, body: response.body,
                    trailers: response.trailers,
                    isReusable: response.isReusable, endsAtClose: response.endsAtClose, byteCount: response.byteCount))
        } catch {
            return .failure(error.code)
        }
    }

    /// Divides the bytes into pieces of pseudorandom lengths, some empty, that depend on the seed.
    private static func pieces(of bytes: [UInt8], _ seed: UInt8) -> [ArraySlice<UInt8>] {
        var (pieces, rest, state): ([ArraySlice<UInt8>], ArraySlice<UInt8>, UInt32) = ([], bytes[...], UInt32(seed))
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let count = Int(state >> 24) % (Int(seed) / 4 + 2)
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
