// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// Decodes one coding of a body.
final class DecodingLevel {
    private let coding: ContentCoding
    private let limits: ContentDecodingLimits
    private var inflater: Inflater
    private(set) var output = DecodedBuffer()
    private var given: Int64 = 0
    /// The limit that was exceeded.
    private var failure: LoadError?

    init(_ coding: ContentCoding, limits: ContentDecodingLimits) {
        self.coding = coding
        self.limits = limits
        inflater = Inflater(coding.format)
    }

    /// Decodes `input` and appends the result to `output`.
    ///
    /// - Returns: the number of bytes of `input` that were consumed.
    /// - Throws: the error, once `output` is empty, so that the data before the error is delivered first.
    func decode(_ input: borrowing RawSpan) throws(LoadError) -> Int {
        if let failure {
            guard output.isEmpty else { return 0 }
            throw failure
        }
        let before = output.count
        let count: Int
        do throws(InflateError) {
            count = try output.append { (room: inout OutputRawSpan) throws(InflateError) in try inflater.inflate(input, into: &room) }
        } catch {
            guard output.isEmpty else { return 0 }
            throw LoadError(error, in: coding, after: inflater.taken)
        }
        given += Int64(output.count - before)
        return count
    }

    /// Enforces the limits: removes output over `maximumBytes`, and throws when no output is left before the limit.
    ///
    /// - Parameter onWire: the number of body bytes that the first level has consumed.
    func check(onWire: Int64) throws(LoadError) {
        guard failure == nil else { return }
        if let limit = limits.maximumBytes, given > limit {
            output.dropLast(Int(clamping: given - limit))
            failure = LoadError(bytesOver: limit, in: coding)
        } else if given > ContentDecodingLimits.ratioIsJudgedAfter, let limit = limits.maximumRatio, given / Int64(max(1, limit)) > onWire {
            failure = LoadError(ratioOver: limit, in: coding, given: given, of: onWire)
        }
        if let failure, output.isEmpty { throw failure }
    }

    func drop(_ count: Int) { output.drop(count) }

    /// Ends the coded data, after all output was used.
    func finish() throws(LoadError) {
        if !inflater.mayEnd { throw LoadError(truncated: coding, after: inflater.taken) }
    }
}
