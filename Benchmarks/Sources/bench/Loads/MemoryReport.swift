// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CTally
import Foundation

/// `bench memory-report`: prints the peak memory of a competitor that loads a large body, in a process that does
/// nothing else.
struct MemoryReport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "memory-report", shouldDisplay: false)

    @Argument var competitor: String
    @Argument var smallURL: String
    @Argument var smallSize: Int
    @Argument var largeURL: String
    @Argument var largeSize: Int

    func run() async throws {
        _ = try await HTTPBulkRows.competitor(named: competitor, loading: HTTPTarget(url: smallURL, size: smallSize)).run()
        let large = try HTTPBulkRows.competitor(named: competitor, loading: HTTPTarget(url: largeURL, size: largeSize))
        let idle = try Self.status("VmRSS")
        let tally = try await large.run()
        print(tally.count, tally.sum, max(0, try Self.status("VmHWM") - idle))
    }

    /// Runs the command in a new process, and adds the printed memory size to `reports`.
    static func runProcess(_ name: String, _ small: HTTPTarget, _ large: HTTPTarget, into reports: Sampler.Reports) throws -> bench_tally {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["memory-report", name, small.url, "\(small.size)", large.url, "\(large.size)"]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
        guard process.terminationStatus == 0, numbers.count == 3 else {
            throw MeasurementError("'bench memory-report \(name)' ended with status \(process.terminationStatus) and printed '\(text)'")
        }
        reports.add(Int(numbers[2]))
        return bench_tally(count: numbers[0], sum: numbers[1])
    }

    /// Returns a value of /proc/self/status in bytes (proc(5)).
    private static func status(_ key: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw MeasurementError("/proc/self/status has no \(key)")
        }
        return kilobytes << 10
    }
}
