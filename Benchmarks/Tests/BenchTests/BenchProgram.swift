// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The built `bench`, run in the folder of the tests, with a file of its own for its results.
struct BenchProgram {
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
        let results: [Result]
    }

    /// What a row's object in results.json holds, and must.
    struct Result: Decodable {
        let name: String
        let unit: String
        let value: Double
        let peers: [String: Double]
        let budget: String
        let within: Bool
    }

    /// Lies beside the test bundle, four folders below the one in which `make bench-plugins` puts its libraries.
    private static let products = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])).deletingLastPathComponent()
    static let plugins = products.appendingPathComponent("../../../bench/plugins").standardizedFileURL.path

    /// Runs it to its end; what it writes goes through files, so that nothing waits for a pipe.
    static func run(_ arguments: [String], slow: String? = nil) throws -> Outcome {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (output, errors, results) = (
            folder.appendingPathComponent("out"), folder.appendingPathComponent("err"), folder.appendingPathComponent("results.json")
        )
        for file in [output, errors] { try Data().write(to: file) }

        let process = Process()
        process.executableURL = products.appendingPathComponent("bench")
        process.arguments = arguments + ["--output", results.path, "--scratch", folder.path]
        process.environment = ProcessInfo.processInfo.environment.merging(["BENCH_SLOW": slow ?? ""]) { $1 }
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        let written = FileManager.default.contents(atPath: results.path)
        return Outcome(
            status: process.terminationStatus, output: try String(contentsOf: output, encoding: .utf8),
            errors: try String(contentsOf: errors, encoding: .utf8),
            results: try written.map { try JSONDecoder().decode([Result].self, from: $0) } ?? [])
    }
}
