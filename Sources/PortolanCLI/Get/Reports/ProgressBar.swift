// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanFileSystem
import Synchronization

/// Shows the progress of a load on one line of the terminal, and clears the line at the end.
final class ProgressBar: LoadObserver {
    /// When the bar first appears. A load that ends earlier shows no bar.
    private static let delay = Duration.milliseconds(300)
    private static let redrawInterval = Duration.milliseconds(100)

    private let terminal: Descriptor
    private let lastDrawTime = Mutex<Duration?>(nil)
    /// When this attempt started, relative to the start of the first attempt.
    private let attemptStart = Mutex(Duration.zero)

    init(terminal: Descriptor) {
        self.terminal = terminal
    }

    func observe(_ event: LoadEvent, at time: Duration) {
        switch event {
        case .started: attemptStart.withLock { $0 = time }
        case .finished, .failed, .retrying: clear()
        case .sent(let progress) where progress.bytesReceived == 0: draw(progress.bytesSent, of: progress.expectedBytesToSend, at: time)
        case .redirected, .challenged, .nestedLoadBegan, .nestedLoadEnded, .interim, .response, .cache, .trailers, .sent, .step, .metrics:
            break
        }
    }

    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) {
        draw(progress.bytesReceived, of: progress.expectedBytesToReceive, at: time)
    }

    private func draw(_ count: Int64, of expected: Int64?, at time: Duration) {
        let time = time - attemptStart.withLock { $0 }
        let isDue = lastDrawTime.withLock { last in
            guard time >= last.map({ $0 + Self.redrawInterval }) ?? Self.delay else { return false }
            last = time
            return true
        }
        guard isDue else { return }
        let line = Self.line(received: count, of: expected, after: time, columns: terminal.columns ?? 80)
        Diagnostics.write("\r\(line)\u{1B}[K")
    }

    private func clear() {
        let wasDrawn = lastDrawTime.withLock { last in
            defer { last = nil }
            return last != nil
        }
        if wasDrawn { Diagnostics.write("\r\u{1B}[K") }
    }

    /// Returns the line, which is at least one column shorter than the terminal.
    ///
    ///     [=======>            ]  40 %  1.2 MiB of 3.0 MiB  4.1 MiB/s
    static func line(received: Int64, of expected: Int64?, after time: Duration, columns: Int) -> String {
        let seconds = max(time / .seconds(1), 0.001)
        let speed = "\(size(Double(received) / seconds))/s"
        guard let expected else {
            return String("\(size(Double(received)))  \(speed)".prefix(max(0, columns - 1)))
        }
        let fraction = expected > 0 ? min(1, Double(received) / Double(expected)) : 1
        let percent = String(Int(fraction * 100))
        let padding = String(repeating: " ", count: max(0, 3 - percent.count))
        let text = "  \(padding)\(percent) %  \(size(Double(received))) of \(size(Double(expected)))  \(speed)"
        let width = min(40, columns - 1 - text.count - 2)
        guard width >= 10 else { return String(text.dropFirst(2).prefix(max(0, columns - 1))) }
        return bar(fraction, width: width) + text
    }

    /// Returns a bar such as `[===>    ]`, with `width` places between the brackets.
    static func bar(_ fraction: Double, width: Int) -> String {
        let filled = Int(min(1, max(0, fraction)) * Double(width))
        let bar = String(repeating: "=", count: filled) + (filled < width ? ">" : "")
        return "[\(bar)\(String(repeating: " ", count: width - bar.count))]"
    }

    /// Formats a count of bytes in the largest unit in which it is at least one.
    static func size(_ bytes: Double) -> String {
        var (value, unit) = (bytes, "B")
        for larger in ["KiB", "MiB", "GiB", "TiB"] where value >= 1024 { (value, unit) = (value / 1024, larger) }
        let tenths = Int(value * 10)
        return unit == "B" ? "\(Int(value)) B" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
