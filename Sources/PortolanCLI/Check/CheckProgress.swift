// SPDX-License-Identifier: Apache-2.0

/// Shows how many checks have run, on one line of the terminal. The line is cleared before other output and at the end.
struct CheckProgress: ~Copyable {
    /// `nil`: shows nothing.
    private let terminal: Descriptor?
    private let total: Int
    private var (made, failures) = (0, 0)

    init(_ total: Int, on terminal: Descriptor?) {
        (self.total, self.terminal) = (total, terminal)
        draw()
    }

    mutating func note(isFailure: Bool) {
        made += 1
        if isFailure { failures += 1 }
    }

    borrowing func draw() {
        guard let terminal else { return }
        Diagnostics.write("\r\(Self.line(made, of: total, failures: failures, columns: terminal.columns ?? 80))\u{1B}[K")
    }

    borrowing func clear() {
        if terminal != nil { Diagnostics.write("\r\u{1B}[K") }
    }

    /// Returns a line that is at least one column shorter than the terminal.
    ///
    ///     [=======>            ]  57 of 126 checks, 1 failed
    static func line(_ made: Int, of total: Int, failures: Int, columns: Int) -> String {
        let text = "\(made) of \(total) checks" + (failures > 0 ? ", \(failures) failed" : "")
        let width = min(40, columns - 1 - text.count - 4)
        guard width >= 10 else { return String(text.prefix(max(0, columns - 1))) }
        return ProgressBar.bar(total > 0 ? Double(made) / Double(total) : 1, width: width) + "  " + text
    }
}
