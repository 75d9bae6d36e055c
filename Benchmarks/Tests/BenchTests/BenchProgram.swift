// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs the built `bench` in the folder of the tests, with a separate results file.
struct BenchProgram {
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
        let results: [Result]
        /// The page beside the results.
        let report: String?
    }

    /// The object of a row in results.json.
    struct Result: Decodable {
        let name: String
        let unit: String
        let value: Double
        let peers: [String: Double]
        let budget: String
        let within: Bool
    }

    /// The folder of the test bundle.
    private static let products = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])).resolvingSymlinksInPath()
        .deletingLastPathComponent()
    static let plugins = products.appendingPathComponent("../../bench/plugins").standardizedFileURL.path
    private static let servers = products.appendingPathComponent("../../../Tests/Servers/serve").standardizedFileURL.path

    /// Makes a folder for the files of bench. The folder exists until `action` returns.
    static func withFolder<Result>(_ action: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try action(folder)
    }

    /// Runs bench and waits until it ends. The output goes to files, because a full pipe would block the program.
    ///
    /// - Parameter slow: the name of the row whose work bench repeats, so that Portolan's value is too slow.
    static func run(_ arguments: [String], slow: String? = nil) throws -> Outcome {
        try withFolder { folder in
            let process = try start(arguments, in: folder, slow: slow)
            process.waitUntilExit()
            let resultsData = FileManager.default.contents(atPath: folder.path + "/results.json")
            return Outcome(
                status: process.terminationStatus, output: try String(contentsOfFile: folder.path + "/out", encoding: .utf8),
                errors: try String(contentsOfFile: folder.path + "/err", encoding: .utf8),
                results: try resultsData.map { try JSONDecoder().decode([Result].self, from: $0) } ?? [],
                report: FileManager.default.contents(atPath: folder.path + "/report.html").map { String(decoding: $0, as: UTF8.self) })
        }
    }

    static func start(_ arguments: [String], in folder: URL, slow: String? = nil) throws -> Process {
        for file in ["out", "err"] { try Data().write(to: folder.appendingPathComponent(file)) }
        let process = Process()
        process.executableURL = products.appendingPathComponent("bench")
        process.arguments =
            ["--servers", servers] + arguments + ["--output", folder.path + "/results.json", "--scratch", folder.path]
        process.environment = ProcessInfo.processInfo.environment.merging(["BENCH_SLOW": slow ?? ""]) { $1 }
        process.standardOutput = try FileHandle(forWritingTo: folder.appendingPathComponent("out"))
        process.standardError = try FileHandle(forWritingTo: folder.appendingPathComponent("err"))
        try process.run()
        return process
    }
}
