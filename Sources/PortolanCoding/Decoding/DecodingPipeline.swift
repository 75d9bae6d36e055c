// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// The codings of a body in a row, each of which takes what the one before it gives.
///
/// Output is drawn from the end: a level decodes when the next one, or the client, has used all it gave before. So each holds one buffer
/// and no more, however much comes out.
struct DecodingPipeline {
    /// The coding that was applied last, and is undone first, is the first.
    private let levels: [DecodingLevel]
    private var taken: Int64 = 0

    init(_ codings: [ContentCoding], limits: ContentDecodingLimits) {
        levels = codings.reversed().map { DecodingLevel($0, limits: limits) }
    }

    /// Delivers all that can be made of `input` from `position` on, and moves that.
    ///
    /// - Returns: `.keepGoing`: all was taken and delivered. Otherwise the client's answer; there may be more.
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

    /// Fills a level's empty buffer as far as there is something to fill it with.
    private mutating func fill(_ index: Int, _ input: borrowing RawSpan, _ position: inout Int) throws(LoadError) {
        let level = levels[index]
        while !level.output.isFull {
            let before = level.output.count
            let count: Int
            if index == 0 {
                count = try level.decode(input.extracting(position...))
                position += count
                taken += Int64(count)
            } else {
                let source = levels[index - 1]
                if source.output.isEmpty {
                    // What is there need not wait for what another level may still fail for.
                    if before > 0 { return }
                    try fill(index - 1, input, &position)
                }
                count = try source.output.withContents { (rest: borrowing RawSpan) throws(LoadError) in try level.decode(rest) }
                source.drop(count)
            }
            try level.judge(onWire: taken)
            if count == 0, level.output.count == before { return }
        }
    }

    /// The body is over.
    func finish() throws(LoadError) {
        for level in levels { try level.finish() }
    }
}
