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

    /// A time in one or two units, as in `59 s`, `9 min 59 s` and `23 h 5 min`. A time of less than two minutes is in
    /// seconds. The time is rounded down to the smaller unit, and a negative time is 0.
    static func text(ofSeconds seconds: Int64) -> String {
        let seconds = max(0, seconds)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: text(seconds, "min", 60, "s", 1)
        case ..<172_800: text(seconds, "h", 3600, "min", 60)
        default: text(seconds, "days", 86400, "h", 3600)
        }
    }

    private static func text(_ seconds: Int64, _ unit: String, _ size: Int64, _ smallUnit: String, _ smallSize: Int64) -> String {
        let rest = seconds % size / smallSize
        return "\(seconds / size) \(unit)\(rest > 0 ? " \(rest) \(smallUnit)" : "")"
    }

    private static func text(_ tenths: Int128) -> String {
        "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
    }
}
