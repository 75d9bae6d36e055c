// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers

/// Loads a gzip file through `gzip:` with the plugin's library. The delivered bytes must match ``GzipReference``, or be
/// the start of the expected bytes if the load fails.
///
/// The first byte of the input selects how the file is loaded; the second selects its division into pieces; the others
/// are the file.
struct GzipCase {
    private enum Variant: CaseIterable { case whole, paused, stopped, broken }

    private let variant: Variant
    private let isSmall: Bool
    private let seed: UInt8
    private let file: [UInt8]

    init(_ input: [UInt8]) {
        var source = ByteSource(input)
        let mode = source.next()
        variant = Variant.allCases[Int(mode & 3)]
        isSmall = mode & 4 != 0
        seed = source.next()
        file = source.takeRest()
    }

    func check() throws(FuzzFinding) {
        let fixture = try GzipFixture.of(isSmall: isSmall)
        let expected = GzipReference(file, limit: fixture.limit)
        let record = PieceDelegate(flow: variant == .paused ? .pause : .keepGoing, stopsAt: variant == .stopped ? Int(seed % 4) : nil)
        let delegate = PausingDelegate(record: record)
        let lastEvent =
            variant == .broken ? ScriptedLoad.Event.failure(LoadError(.connectionLost, message: "the script fails the load")) : .finish
        let url = fixture.files.add(pieces.map(ScriptedLoad.Event.data) + [lastEvent])
        guard let request = try? Request("gzip:\(url)") else { return }
        let task = fixture.loader.task(for: request, delegate: delegate)
        task.resume()
        while true {
            try delegate.wait()
            if record.received.hasEnded { break }
            task.resume()
        }
        try check(record.received, expected, limit: fixture.limit)
    }

    private func check(_ received: PieceDelegate.Record, _ expected: GzipReference, limit: Int) throws(FuzzFinding) {
        if let disorder = received.disorder { throw FuzzFinding(disorder) }
        guard let end = received.end else { throw FuzzFinding("the load has no end") }
        try require(received.body.count <= limit, "\(received.body.count) bytes were delivered, above the limit \(limit)")
        try require(
            received.body.isStart(of: expected.body),
            "the delivered bytes are not the start of the contents: \(received.body.count) bytes, of \(expected.body.count)")
        if variant == .stopped, end == .failed(.cancelled) { return }
        let codes = codes(expected.stop)
        guard !codes.isEmpty else {
            try require(end == .finished, "the file is valid, but the load ended with \(end)")
            return try require(
                received.body.count == expected.body.count, "\(received.body.count) bytes of \(expected.body.count) were delivered")
        }
        guard case .failed(let code) = end, codes.contains(code) else {
            throw FuzzFinding("the file is \(expected.stop.map { "\($0)" } ?? "valid"), loaded \(variant), but the load ended with \(end)")
        }
    }

    /// The error codes with which the load may fail; empty if the load must finish.
    private func codes(_ stop: GzipStop?) -> [LoadError.Code] {
        let isBroken = variant == .broken
        switch stop {
        case nil: return isBroken ? [.connectionLost] : []
        case .cut: return [isBroken ? .connectionLost : .truncated]
        // zlib reads two bytes of a header before it checks the first.
        case .malformed: return isBroken ? [.decodingFailed, .connectionLost] : [.decodingFailed, .truncated]
        case .overLimit: return isBroken ? [.limitExceeded, .connectionLost] : [.limitExceeded]
        }
    }

    // MARK: Inner load

    /// The file in nonempty pieces, of the same length or of pseudorandom lengths that depend on the seed.
    private var pieces: [[UInt8]] {
        var (pieces, rest, state): ([[UInt8]], ArraySlice<UInt8>, UInt32) = ([], file[...], UInt32(seed))
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let count = seed < 128 ? Int(seed) * 32 + 1 : 1 + Int(state >> 24) % Int(seed - 127)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
