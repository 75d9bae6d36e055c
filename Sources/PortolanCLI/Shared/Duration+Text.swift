// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// Milliseconds with one decimal digit.
    var milliseconds: String {
        let (seconds, attoseconds) = components
        let tenths = Int128(seconds) * 10_000 + Int128(attoseconds / 100_000_000_000_000)
        return Self.text(tenths)
    }

    /// Seconds, with one decimal digit unless it is zero.
    var secondsText: String {
        let (seconds, attoseconds) = components
        let tenths = Int128(seconds) * 10 + Int128(attoseconds / 100_000_000_000_000_000)
        return tenths % 10 == 0 ? "\(seconds)" : Self.text(tenths)
    }

    private static func text(_ tenths: Int128) -> String {
        "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
    }
}
