// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

extension LoadError {
    /// Converts an error that ``Inflater`` threw after `consumedCount` bytes of the coding.
    init(_ error: InflateError, in coding: ContentCoding, after consumedCount: Int64) {
        switch error {
        case .malformed(let phrase):
            self.init(
                .decodingFailed,
                message: "the body's \(coding) coding is malformed after \(consumedCount) bytes (\(phrase)): load it again, "
                    + "or ask for it uncoded with the field Accept-Encoding: identity")
        case .noMemory:
            self.init(.noMemory, message: "no memory to decode the body's \(coding) coding")
        }
    }

    init(truncated coding: ContentCoding, after consumedCount: Int64) {
        self.init(.truncated, message: "the body ends after \(consumedCount) bytes in the middle of its \(coding) coding: load it again")
    }

    init(bytesOver limit: Int64, in coding: ContentCoding) {
        self.init(
            .limitExceeded,
            message: "the body's \(coding) coding decodes to more than \(limit) bytes",
            remedy: .raiseDecodingLimit("ContentDecodingLimits.maximumBytes, or set it to nil for no limit"))
    }

    init(ratioOver limit: Int, in coding: ContentCoding, outputCount: Int64, receivedCount: Int64) {
        self.init(
            .limitExceeded,
            message:
                "the body's \(coding) coding decodes to \(outputCount) bytes, more than \(limit) times the \(receivedCount) received bytes",
            remedy: .raiseDecodingLimit("ContentDecodingLimits.maximumRatio, or set it to nil for no limit"))
    }

    init(codings count: Int, over limit: Int) {
        self.init(
            .limitExceeded,
            message: "the response names \(count) codings, and the limit is \(limit)",
            remedy: .raiseDecodingLimit("ContentDecodingLimits.maximumCodings"))
    }
}
