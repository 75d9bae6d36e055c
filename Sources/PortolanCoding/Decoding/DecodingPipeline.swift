// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// A chain of decoders for the codings of a body. Each decoder decodes the output of the previous decoder.
///
/// Output is pulled from the end: a level decodes only after the next level, or the client, has used all of its earlier
/// output. So each level holds one buffer at most, however large the output is.
struct DecodingPipeline {
    /// The first level decodes the coding that was applied last.
    private let levels: [DecodingLevel]
    private var consumedCount: Int64 = 0

    init(_ codings: [ContentCoding], limits: ContentDecodingLimits) {
        levels = codings.reversed().map { DecodingLevel($0, limits: limits) }
    }

    /// Delivers all output of `input` from `position` on, and advances `position`.
    ///
    /// - Returns: `.keepGoing` if all input was consumed and delivered. Otherwise the client's result; there may be
    ///   more output.
    mutating func advance(_ input: borrowing RawSpan, from position: inout Int, to client: any ProtocolClient) throws(LoadError) -> Flow {
        guard let last = levels.last else { return .keepGoing }
        while true {
            try fill(levels.count - 1, input, &position)
            let count = last.output.count
            if count == 0 { return .keepGoing }
            let flow = last.output.withContents { client.didLoad($0) }
            last.drop(count)
            if flow != .keepGoing { return flow }
        }
    }

    /// Fills a level's empty buffer as far as input is available.
    private mutating func fill(_ index: Int, _ input: borrowing RawSpan, _ position: inout Int) throws(LoadError) {
        let level = levels[index]
        while !level.output.isFull {
            let before = level.output.count
            let count: Int
            if index == 0 {
                count = try level.decode(input.extracting(position...))
                position += count
                consumedCount += Int64(count)
            } else {
                let source = levels[index - 1]
                if source.output.isEmpty {
                    // Deliver the available output first, because another level may still fail.
                    if before > 0 { return }
                    try fill(index - 1, input, &position)
                }
                count = try source.output.withContents { (rest: borrowing RawSpan) throws(LoadError) in try level.decode(rest) }
                source.drop(count)
            }
            try level.checkLimits(receivedCount: consumedCount)
            if count == 0, level.output.count == before { return }
        }
    }

    /// Ends the body. Throws if one of the codings is truncated.
    func finish() throws(LoadError) {
        for level in levels { try level.finish() }
    }
}
