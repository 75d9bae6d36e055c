// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// Milliseconds with one digit after the point.
    var milliseconds: String {
        let (seconds, attoseconds) = components
        let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Seconds, with one digit after the point where there are such.
    var secondsText: String {
        let (seconds, attoseconds) = components
        let tenths = attoseconds / 100_000_000_000_000_000
        return tenths == 0 ? "\(seconds)" : "\(seconds).\(tenths)"
    }
}
