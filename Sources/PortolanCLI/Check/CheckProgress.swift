// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

/// Shows how many checks have run, on one line of the terminal. The line is cleared before other output and at the end.
struct CheckProgress: ~Copyable {
    /// `nil` if no progress is shown.
    private let terminal: Descriptor?
    private let totalChecks: Int
    private var (finishedChecks, failedChecks) = (0, 0)

    init(_ totalChecks: Int, on terminal: Descriptor?) {
        (self.totalChecks, self.terminal) = (totalChecks, terminal)
        draw()
    }

    mutating func countResult(isFailure: Bool) {
        finishedChecks += 1
        if isFailure { failedChecks += 1 }
    }

    borrowing func draw() {
        guard let terminal else { return }
        Diagnostics.write(
            "\r\(Self.line(finishedChecks, of: totalChecks, failures: failedChecks, columns: terminal.columns ?? 80))\u{1B}[K")
    }

    borrowing func clear() {
        if terminal != nil { Diagnostics.write("\r\u{1B}[K") }
    }

    /// Returns a line that is at least one column shorter than the terminal.
    ///
    ///     [=========>          ]  57 of 126 checks, 1 failed
    static func line(_ finishedChecks: Int, of total: Int, failures: Int, columns: Int) -> String {
        let text = "\(finishedChecks) of \(total) checks" + (failures > 0 ? ", \(failures) failed" : "")
        let width = min(40, columns - 1 - text.count - 4)
        guard width >= 10 else { return String(text.prefix(max(0, columns - 1))) }
        return ProgressBar.bar(total > 0 ? Double(finishedChecks) / Double(total) : 1, width: width) + "  " + text
    }
}
