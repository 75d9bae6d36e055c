// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The stored responses for one URL.
package enum Variants {
    /// The largest number of stored responses for a URL.
    package static let limit = 32

    /// The indices of the stored responses to remove when a response to a request is stored: those that would answer
    /// the same request. They are older, and must not be used in place of the new response. If there are too many
    /// others, the oldest ones are removed, too.
    ///
    /// RFC 9111 §4, §4.1
    package static func replaced(_ responses: [StoredResponse], byResponseTo request: HTTPFields) -> [Int] {
        let replaced = responses.indices.filter { responses[$0].selectingFields.matches(request) }
        let others = responses.indices.filter { !responses[$0].selectingFields.matches(request) }
        guard others.count >= limit else { return replaced }
        let oldestFirst = others.sorted { responses[$0].responseTime < responses[$1].responseTime }
        return replaced + oldestFirst.prefix(others.count - limit + 1)
    }
}
