// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Double {
    /// The time, in seconds since 1970, as RFC 3339 text with milliseconds, in UTC.
    package var timestamp: String {
        Date(timeIntervalSince1970: self).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Parses RFC 3339 text to seconds since 1970; `nil` if the text is invalid.
    init?(timestamp: String) {
        // `try?` because times occur with or without a fraction, and only parsing shows which.
        let styles = [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()]
        guard let date = styles.lazy.compactMap({ try? $0.parse(timestamp) }).first else { return nil }
        self = date.timeIntervalSince1970
    }
}
