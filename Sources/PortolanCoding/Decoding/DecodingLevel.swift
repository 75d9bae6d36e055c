// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// Decodes one coding of a body.
final class DecodingLevel {
    private let coding: ContentCoding
    private let limits: ContentDecodingLimits
    private var inflater: Inflater
    private(set) var output = DecodedBuffer()
    private var outputCount: Int64 = 0
    /// The error for a limit that was exceeded. It is thrown once `output` is empty.
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
            count = try output.append { (buffer: inout OutputRawSpan) throws(InflateError) in try inflater.inflate(input, into: &buffer) }
        } catch {
            guard output.isEmpty else { return 0 }
            throw LoadError(error, in: coding, after: inflater.consumedCount)
        }
        outputCount += Int64(output.count - before)
        return count
    }

    /// Enforces the limits: removes output over `maximumBytes`, and throws when no output is left before the limit.
    ///
    /// - Parameter receivedCount: the number of bytes of the body that the first level has consumed.
    func checkLimits(receivedCount: Int64) throws(LoadError) {
        guard failure == nil else { return }
        if let limit = limits.maximumBytes, outputCount > limit {
            output.dropLast(Int(clamping: outputCount - limit))
            failure = LoadError(bytesOver: limit, in: coding)
        } else if outputCount > ContentDecodingLimits.minimumOutputForRatioCheck, let limit = limits.maximumRatio,
            outputCount / Int64(max(1, limit)) > receivedCount
        {
            failure = LoadError(ratioOver: limit, in: coding, outputCount: outputCount, receivedCount: receivedCount)
        }
        if let failure, output.isEmpty { throw failure }
    }

    func drop(_ count: Int) { output.drop(count) }

    /// Ends the coded data, after all output was used.
    func finish() throws(LoadError) {
        if !inflater.canEnd { throw LoadError(truncated: coding, after: inflater.consumedCount) }
    }
}
