// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
@_spi(Fuzzing) import PortolanHTTP

/// Tests requests on one HTTP/2 connection with given bytes from the server.
///
/// Three bytes select the options (``HTTP2Plan``). The rest are the server's bytes, or an ``HTTP2Script`` for them.
struct HTTP2Case {
    private let plan: HTTP2Plan
    private let bytes: [UInt8]
    private let seed: UInt8

    init(_ input: [UInt8]) throws(FuzzFinding) {
        var source = ByteSource(input)
        let mode = source.next()
        seed = source.next()
        plan = try HTTP2Plan(mode, seed, source.next())
        let greeting: [UInt8] = mode & 2 == 0 ? [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0] : []
        bytes = greeting + (mode & 1 == 0 ? HTTP2Script(&source).bytes : source.takeRest())
    }

    func check() throws(FuzzFinding) {
        let wholeRun = try HTTP2Run([bytes[...]], plan)
        let reference = HTTP2Reference(
            bytes, methods: plan.requests.map(\.method), limits: plan.configuration.messageLimits, stopped: plan.stoppedRequest)
        try check(wholeRun, reference, "read whole")
        let scattered = try HTTP2Run(pieces(seed), plan)
        try check(scattered, reference, "read in pieces by \(seed)")
        if !reference.dependsOnTiming { try compare(scattered, wholeRun, "in pieces by \(seed)") }
        guard bytes.count <= 2048 else { return }
        let bytewise = try HTTP2Run(bytes.indices.map { bytes[$0...$0] }, plan)
        try check(bytewise, reference, "read byte by byte")
        if !reference.dependsOnTiming { try compare(bytewise, wholeRun, "byte by byte") }
    }

    private func compare(_ run: HTTP2Run, _ wholeRun: HTTP2Run, _ readMode: String) throws(FuzzFinding) {
        for (number, result) in run.results.enumerated() where !result.isSame(as: wholeRun.results[number]) {
            throw FuzzFinding("load \(number): read \(readMode), the result is \(result), and read whole \(wholeRun.results[number])")
        }
    }

    private func check(_ run: HTTP2Run, _ reference: HTTP2Reference, _ readMode: String) throws(FuzzFinding) {
        for (number, result) in run.results.enumerated() {
            let stream = reference.streams[number]
            do throws(FuzzFinding) {
                try check(result, stream)
                let expected = stream.resultAtEnd
                if reference.isSound, number != plan.cancelledRequest, !run.isStopped[number] {
                    try require(result.isSame(as: expected), "the result is \(result) instead of \(expected)")
                    try require(
                        result.body.isStart(of: expected.body) || expected.end != .finished, "its body is not the body of the stream")
                }
            } catch {
                throw FuzzFinding("load \(number), \(readMode): \(error)")
            }
        }
        let permittedFrames = 1000 + reference.permittedIdleFrames + 4 * plan.requests.count + plan.bodyBytes / 32 + 64
        try require(
            !run.wasOpen || reference.idleFrames <= permittedFrames, "a flood of \(reference.idleFrames) frames was read, \(readMode)")
        try check(output: run.output, reference)
    }

    /// Checks a result's properties that do not depend on whether the server's bytes are valid.
    private func check(_ result: HTTP2Result, _ stream: HTTP2StreamReference) throws(FuzzFinding) {
        let deliveredStatuses = result.interim + (result.status.map { [$0] } ?? [])
        try require(deliveredStatuses.count <= stream.heads.count, "more heads were delivered than sections were sent")
        for (index, status) in deliveredStatuses.enumerated() {
            try require(stream.heads[index].status == status, "head \(index) is \(status), but \(stream.heads[index]) was sent")
        }
        if result.status != nil {
            let sentFields = stream.heads[deliveredStatuses.count - 1].fields
            try require(result.fields == sentFields, "the fields are \(result.fields), but \(sentFields) were sent")
            let limits = plan.configuration.messageLimits
            let size = sentFields.reduce(0) { $0 + $1[0].unicodeScalars.count + $1[1].unicodeScalars.count + 4 }
            try require(
                size <= limits.maximumFieldSectionBytes && sentFields.count <= limits.maximumFieldCount,
                "fields beyond the limits were delivered"
            )
            if case .length(let length) = FramingReference(sentFields).contentLength {
                try require(result.body.count <= length, "\(result.body.count) bytes of \(length) were delivered")
            }
        }
        try require(
            result.interim.count <= plan.configuration.messageLimits.maximumInterimResponsesPerResponse, "too many interim responses")
        try require(result.body.isStart(of: stream.content), "the body is not what was sent on the stream")
        try checkRetryEligibility(result, stream)
    }

    /// Checks that the result permits sending the request again only if the server cannot have begun to process it.
    private func checkRetryEligibility(_ result: HTTP2Result, _ stream: HTTP2StreamReference) throws(FuzzFinding) {
        guard case .failed(_, let eligibility)? = result.end, eligibility != .possiblyProcessed else { return }
        try require(result.interim.isEmpty && result.status == nil, "its response had begun, but its retry eligibility is \(eligibility)")
        switch eligibility {
        case .possiblyProcessed, .noResponse: break
        case .refused: try require(stream.resets.contains(7), "it counts as refused without RST_STREAM")
        case .needsHTTP1: try require(stream.resets.contains(13), "it is to be retried over HTTP/1.1 without RST_STREAM")
        case .notProcessed: try require(stream.isAboveGoAway, "it counts as not processed without GOAWAY")
        }
    }

    /// Checks that the client's output consists of whole frames, and that their number is small in relation to the
    /// number of received frames.
    private func check(output: [UInt8], _ reference: HTTP2Reference) throws(FuzzFinding) {
        var rest = output.dropFirst(24)
        var (frameCount, contentByteCount) = (0, 0)
        while rest.count >= 9 {
            let header = Array(rest.prefix(9))
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            try require(rest.count >= 9 + length, "a frame of \(length) bytes was cut off")
            try require(length <= 16_384 || header[3] == 0 || header[3] == 1, "a frame of \(length) bytes exceeds the frame size limit")
            if header[3] == 0 { contentByteCount += length } else { frameCount += 1 }
            rest = rest.dropFirst(9 + length)
        }
        try require(rest.isEmpty, "only \(rest.count) bytes of a frame header were sent")
        try require(
            contentByteCount <= plan.bodyBytes, "\(contentByteCount) content bytes were sent, but the bodies have \(plan.bodyBytes)")
        try require(
            frameCount <= 3 * reference.frameCount + 4 * plan.requests.count + 16,
            "\(frameCount) frames were sent for \(reference.frameCount) received ones")
    }

    /// Divides the bytes into pieces of pseudorandom lengths that depend on the seed.
    private func pieces(_ seed: UInt8) -> [ArraySlice<UInt8>] {
        var (pieces, rest, state): ([ArraySlice<UInt8>], ArraySlice<UInt8>, UInt32) = ([], bytes[...], UInt32(seed))
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let count = 1 + Int(state >> 24) % (Int(seed) / 4 + 2) + (bytes.count > 2048 ? Int(state >> 16) % 8192 : 0)
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}

/// The requests of a case, and the behavior of the client.
///
/// Bits of the first byte: 1: the input has the server's bytes instead of a script; 2: the server sends no settings at
/// the start; 4: small limits; 8: each event pauses the load; 16: the client's output is blocked; 32: one load is
/// stopped or cancelled; 64: half a minute passes before the end.
struct HTTP2Plan {
    let requests: [Request]
    let configuration: HTTPConfiguration
    let pauses: Bool
    let blocksOutput: Bool
    let waits: Bool
    /// The number of the request whose load is stopped.
    private(set) var stoppedRequest: Int?
    /// The number of the request whose load is cancelled.
    private(set) var cancelledRequest: Int?
    /// The total length of the requests' bodies in bytes.
    let bodyBytes: Int

    init(_ mode: UInt8, _ seed: UInt8, _ kinds: UInt8) throws(FuzzFinding) {
        var configuration = HTTPConfiguration()
        if mode & 4 != 0 { configuration.messageLimits = Self.smallLimits }
        self.configuration = configuration
        do throws(LoadError) {
            requests = try (0...(kinds & 3)).map { number throws(LoadError) in try Self.request(kinds >> (2 + number) & 3) }
        } catch {
            throw FuzzFinding("a request can't be made: \(error)")
        }
        bodyBytes = requests.reduce(0) { $0 + Int($1.body?.length ?? 0) }
        (pauses, blocksOutput, waits) = (mode & 8 != 0, mode & 16 != 0, mode & 64 != 0)
        guard mode & 32 != 0 else { return }
        let number = Int(seed & 0x7F) % requests.count
        if seed < 0x80 { stoppedRequest = number } else { cancelledRequest = number }
    }

    private static func request(_ kind: UInt8) throws(LoadError) -> Request {
        switch kind {
        case 0: try Request("https://example.org/")
        case 1: try Request("https://example.org/", method: .head)
        case 2: try Request("https://example.org/", method: .put, body: .bytes([UInt8](repeating: 1, count: 70_000)))
        default:
            try Request("https://example.org/", method: .post, fields: [.expect: "100-continue"], body: .bytes([1, 2, 3]))
        }
    }

    private static let smallLimits: HTTPLimits = {
        var limits = HTTPLimits()
        (limits.maximumFieldLineBytes, limits.maximumFieldCount, limits.maximumFieldSectionBytes) = (40, 4, 100)
        (limits.maximumInterimResponsesPerResponse, limits.maximumTrailerSectionBytes) = (2, 60)
        return limits
    }()
}
