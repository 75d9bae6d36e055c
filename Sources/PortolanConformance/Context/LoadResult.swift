// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// The result of a load, regardless of its responses. Two results with different messages of their errors can be equal.
struct LoadResult: Hashable {
    let body: [UInt8]
    let didFinish: Bool
    let didFail: Bool
    /// The code of the error; `nil` also if the error cannot be read.
    let errorCode: Int32?
    /// The name of the error's code, and its message, for findings.
    private let errorPhrase: String?

    init(_ record: LoadRecord) {
        (body, didFinish, didFail) = (record.body, record.didFinish, record.failure != nil)
        errorCode = record.failure?.value?.code
        errorPhrase = record.failure?.value?.phrase
    }

    static func == (a: Self, b: Self) -> Bool {
        (a.body, a.didFinish, a.didFail, a.errorCode) == (b.body, b.didFinish, b.didFail, b.errorCode)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(body)
        hasher.combine(didFinish)
        hasher.combine(errorCode)
    }

    /// A short form for a finding, for example `an error (badResponse: 'the header has no length')`.
    var phrase: String {
        if let errorPhrase { return "\(Finding.errorStart)\(errorPhrase))" }
        if didFail { return "did_fail without an error" }
        return didFinish ? ValueFormatting.count(body.count, "byte") : "no end"
    }
}

extension ReadError {
    /// The name of the code, after its domain if it has one.
    var codeName: String {
        domain.text.flatMap { $0.isEmpty ? nil : "\($0):\(code)" } ?? LoadError.Code(rawValue: code).description
    }

    /// The name of the code, and the message on one line.
    fileprivate var phrase: String {
        guard let text = message.text, !text.isEmpty else { return codeName }
        return "\(codeName): '\(Text.oneLine(text, limit: 300))'"
    }
}
