// SPDX-License-Identifier: Apache-2.0

/// The result of a load, regardless of its responses.
struct LoadResult: Hashable {
    let body: [UInt8]
    let didFinish: Bool
    let didFail: Bool
    /// The code of the error; `nil` also if the error cannot be read.
    let failure: Int32?

    init(_ record: LoadRecord) {
        (body, didFinish, didFail) = (record.body, record.didFinish, record.failure != nil)
        failure = record.failure?.value?.code
    }

    /// A short form for a finding.
    var phrase: String {
        if let failure { return "an error (\(failure))" }
        if didFail { return "did_fail without an error" }
        return didFinish ? ValueFormatting.count(body.count, "byte") : "no end"
    }
}
