// SPDX-License-Identifier: Apache-2.0

/// What a load comes to, whatever its responses say.
struct LoadResult: Hashable {
    let body: [UInt8]
    let didFinish: Bool
    let failure: Int32?

    init(_ record: LoadRecord) {
        (body, didFinish) = (record.body, record.didFinish)
        failure = record.failure?.value?.code
    }

    /// In short, for a finding.
    var words: String {
        if let failure { return "an error (\(failure))" }
        return didFinish ? Words.count(body.count, "byte") : "no end"
    }
}
