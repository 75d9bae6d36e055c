// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Double {
    /// Seconds since 1970 as RFC 3339 has it, with milliseconds, in UTC.
    package var timestamp: String {
        Date(timeIntervalSince1970: self).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Seconds since 1970; `nil` where the text is no time as RFC 3339 has it.
    init?(timestamp: String) {
        // `try?` because times are written with or without a fraction, which is told apart by trying.
        let styles = [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()]
        guard let date = styles.lazy.compactMap({ try? $0.parse(timestamp) }).first else { return nil }
        self = date.timeIntervalSince1970
    }
}
