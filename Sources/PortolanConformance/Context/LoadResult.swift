// SPDX-License-Identifier: Apache-2.0

/// What a load comes to, whatever its responses say.
struct LoadResult: Hashable {
    let body: [UInt8]
    let didFinish: Bool
    let didFail: Bool
    /// `nil` also where the error can't be read.
    let failure: Int32?

    init(_ record: LoadRecord) {
        (body, didFinish, didFail) = (record.body, record.didFinish, record.failure != nil)
        failure = record.failure?.value?.code
    }

    /// In short, for a finding.
    var words: String {
        if let failure { return "an error (\(failure))" }
        if didFail { return "did_fail without an error" }
        return didFinish ? ValueFormatting.count(body.count, "byte") : "no end"
    }
}
