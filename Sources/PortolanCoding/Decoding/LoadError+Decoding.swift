// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

extension LoadError {
    /// Converts an error that ``Inflater`` threw after `taken` bytes of the coding.
    init(_ error: InflateError, in coding: ContentCoding, after taken: Int64) {
        switch error {
        case .malformed(let phrase):
            self.init(
                .decodingFailed,
                message: "the body's \(coding) coding is malformed after \(taken) bytes (\(phrase)): load it again, "
                    + "or ask for it uncoded with the field Accept-Encoding: identity")
        case .noMemory:
            self.init(.noMemory, message: "no memory to decode the body's \(coding) coding")
        }
    }

    init(truncated coding: ContentCoding, after taken: Int64) {
        self.init(.truncated, message: "the body ends after \(taken) bytes in the middle of its \(coding) coding: load it again")
    }

    init(bytesOver limit: Int64, in coding: ContentCoding) {
        self.init(
            .limitExceeded,
            message: "the body's \(coding) coding decodes to more than \(limit) bytes",
            remedy: .raiseDecodingLimit("ContentDecodingLimits.maximumBytes, or set it to nil for no limit"))
    }

    init(ratioOver limit: Int, in coding: ContentCoding, given: Int64, of taken: Int64) {
        self.init(
            .limitExceeded,
            message: "the body's \(coding) coding decodes to \(given) bytes, more than \(limit) times the \(taken) received bytes",
            remedy: .raiseDecodingLimit("ContentDecodingLimits.maximumRatio, or set it to nil for no limit"))
    }

    init(codings count: Int, over limit: Int) {
        self.init(
            .limitExceeded,
            message: "the response names \(count) codings, and the limit is \(limit)",
            remedy: .raiseDecodingLimit("ContentDecodingLimits.maximumCodings"))
    }
}
