// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCoding
@_spi(Fuzzing) import PortolanHTTP

/// Loads a body, coded or with several parts, through the decoders of http:. The result must match the result of
/// ``GzipReference`` and ``MultipartReference``, which read the whole body at once, for any division into pieces and
/// any pauses.
///
/// The first byte of the input selects the codings, the parts and the limit; the second selects the pieces and the
/// pauses of the client.
struct CodingCase {
    private let codings: [GzipReference.Format]
    private let boundary: String
    private let limit: Int
    private let seed: UInt8
    private let body: [UInt8]

    private static let multipart: MultipartLimits = MultipartLimits(maximumHeadBytes: 200, maximumFields: 8)

    init(_ input: [UInt8]) {
        var source = ByteSource(input)
        let mode = source.next()
        codings = [[], [.gzipCoding], [.deflateCoding], [.deflateCoding, .gzipCoding]][Int(mode & 3)]
        let hasParts = codings.isEmpty || mode & 4 != 0
        boundary = hasParts ? ["b", "--b", "-b-", "ab"][Int(mode >> 4 & 3)] : ""
        // The larger limit exceeds the size of one buffer.
        limit = mode & 8 != 0 ? 100 : 150_000
        seed = source.next()
        body = source.takeRest()
    }

    func check() throws(FuzzFinding) {
        let (expected, codingStop) = expectedResult()
        try check([body[...]], pauseInterval: 0, expected, codingStop)
        try check([body[...]], pauseInterval: 1, expected, codingStop)
        try check(body.indices.map { body[$0...$0] }, pauseInterval: Int(seed & 3), expected, codingStop)
        try check(pieces, pauseInterval: Int(seed >> 2 & 3), expected, codingStop)
    }

    // MARK: Expectations

    /// Returns the expected parts, and why the codings end early.
    private func expectedResult() -> (MultipartReference, GzipStop?) {
        var (bytes, stop): ([UInt8], GzipStop?) = (body, nil)
        for format in codings.reversed() {
            let level = GzipReference(bytes, limit: limit, as: format)
            bytes = Array(level.body.prefix(limit))
            // If an outer coding ended early, the inner coding is cut, too. Only the outer one is then the cause.
            switch (level.stop, stop) {
            case (nil, _), (.cut, .some): break
            case (.some(let stopOfCoding), _): stop = stopOfCoding
            }
        }
        guard !boundary.isEmpty else { return (MultipartReference(whole: bytes), stop) }
        return (MultipartReference(bytes, boundary: Array(boundary.utf8), limits: Self.multipart), stop)
    }

    private func check(
        _ pieces: [ArraySlice<UInt8>], pauseInterval: Int, _ expected: MultipartReference, _ stop: GzipStop?
    ) throws(FuzzFinding) {
        var input = InMemoryBody.Input()
        input.codings = codings.map { $0 == .gzipCoding ? "gzip" : "deflate" }.joined(separator: ", ")
        input.contentType = boundary.isEmpty ? "" : "multipart/x-mixed-replace; boundary=\(boundary)"
        input.pieces = pieces
        input.decoding.maximumBytes = Int64(limit)
        input.multipart = Self.multipart
        input.pauseInterval = pauseInterval
        input.endsInPause = seed & 64 != 0
        guard let playedBody = InMemoryBody(input) else { throw FuzzFinding("there is no stage between the load and its client") }
        let variant = "\(pieces.count) pieces, pauses \(pauseInterval)"
        if let disorder = playedBody.disorder { throw FuzzFinding("\(variant): \(disorder)") }
        // If the body has no part, the error of an incomplete coding takes precedence.
        let hasNoPart = expected.code == .badResponse
        let codes = hasNoPart && stop != nil ? Self.codes(stop) : expected.code.map { [$0] } ?? Self.codes(stop)
        let code = playedBody.error?.code
        try require(
            code.map(codes.contains) ?? codes.isEmpty,
            "\(variant): it ended with \(playedBody.error.map { "\($0)" } ?? "the finish") instead of \(codes)")
        // After a failure, bytes that were buffered as a possible start of a delimiter are lost.
        let maximumMissingBytes = codes.isEmpty || boundary.isEmpty ? 0 : boundary.utf8.count + 4
        try require(
            playedBody.parts.count == expected.parts.count,
            "\(variant): \(playedBody.parts.count) of \(expected.parts.count) parts were delivered")
        for (index, (part, whole)) in zip(playedBody.parts, expected.parts).enumerated() {
            let missingBytes = whole.count - part.count
            try require(
                part.isStart(of: whole) && (missingBytes == 0 || missingBytes <= maximumMissingBytes && index == expected.parts.count - 1),
                "\(variant): part \(index) has \(part.count) bytes, which are not the \(whole.count) bytes that were sent")
        }
    }

    /// The error codes with which the load may fail; empty if the load must finish.
    private static func codes(_ stop: GzipStop?) -> [LoadError.Code] {
        switch stop {
        case nil: []
        case .cut: [.truncated]
        // zlib reads two bytes of a header before it checks the first.
        case .malformed: [.decodingFailed, .truncated]
        case .overLimit: [.limitExceeded]
        }
    }

    /// The body in nonempty pieces, whose pseudorandom lengths depend on the seed.
    private var pieces: [ArraySlice<UInt8>] {
        var (pieces, rest, state): ([ArraySlice<UInt8>], ArraySlice<UInt8>, UInt32) = ([], body[...], UInt32(seed))
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let count = 1 + Int(state >> 24) % (1 + Int(seed >> 3))
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
