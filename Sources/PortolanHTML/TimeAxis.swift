// SPDX-License-Identifier: Apache-2.0

/// Round times on an axis: 0, 20, 40 … ms.
package struct TimeAxis: Sendable {
    package struct Tick: Equatable, Sendable {
        package let milliseconds: Double
        /// With the unit, for example `250 µs`, `20 ms` or `1.5 s`.
        package let label: String
    }

    package let ticks: [Tick]

    /// - Parameters:
    ///   - span: The length of the axis in milliseconds, from 0. Values that are not finite, or below 0.001, count as
    ///     0.001.
    ///   - maximumSteps: The maximum number of steps between ticks.
    package init(to span: Double, atMost maximumSteps: Int = 8) {
        let span = span.isFinite ? max(span, 0.001) : 0.001
        var power = 0.0001
        while power * 10 <= span { power *= 10 }
        let steps = [1, 2, 5, 10, 20, 50].map { $0 * power / 10 }
        let step = steps.first { span / $0 <= Double(max(maximumSteps, 1)) } ?? power * 10
        let count = Int(span / step + 1e-9)
        ticks = (0...count).map { index in
            let time = Double(index) * step
            return Tick(milliseconds: time, label: Self.label(time, step: step))
        }
    }

    private static func label(_ milliseconds: Double, step: Double) -> String {
        let (unit, factor): (String, Double) = step >= 500 ? ("s", 0.001) : step >= 0.1 ? ("ms", 1) : ("µs", 1000)
        return "\(number(milliseconds * factor)) \(unit)"
    }

    /// The value with at most three decimals, without zeros at the end; `0` if it is not finite or is 1e15 or more.
    package static func number(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "0" }
        let thousandths = Int((value * 1000).rounded())
        let sign = thousandths < 0 ? "-" : ""
        var text = "\(sign)\(abs(thousandths) / 1000)"
        let fraction = String(abs(thousandths) % 1000 + 1000).dropFirst()
        if fraction != "000" { text += "." + fraction.prefix(fraction.last == "0" ? (fraction.dropLast().last == "0" ? 1 : 2) : 3) }
        return text
    }
}
