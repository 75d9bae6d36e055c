// SPDX-License-Identifier: Apache-2.0

import CTally
import Foundation

/// Compares the start of the command line with 1,000 installed plugins and with none: `portolan get data:,x`, ten
/// times. The command loads a URL because only a load needs the manifests.
enum ManifestsRow {
    private static let count = 1000
    private static let startCount = 10

    static func make(_ fixture: Fixture) throws -> Row {
        guard FileManager.default.isExecutableFile(atPath: fixture.portolan) else {
            throw MeasurementError("\(fixture.portolan) does not exist; run 'make bench' to build it, or name it with --portolan")
        }
        let fullFolder = try fixture.emptyFolder("manifests")
        let emptyFolder = try fixture.emptyFolder("no-manifests")
        for index in 0..<count { try install(index, into: fullFolder) }
        try checkThatManifestsAreRead(fixture.portolan, fullFolder)
        return Row(
            unit: .milliseconds, sampler: .children,
            subject: competitor("portolan", fixture.portolan, plugins: fullFolder),
            peers: [competitor("empty", fixture.portolan, plugins: emptyFolder)],
            budget: .atMost(20, .milliseconds, over: "empty"))
    }

    /// Installs a plugin. Its library is never opened, because no load has its scheme.
    private static func install(_ index: Int, into folder: String) throws {
        let name = "bench\(index)"
        let manifest = """
            {
              "identifier": "org.portolan.bench.\(name)",
              "name": "\(name)",
              "vendor": "The Portolan authors",
              "version": "1.0.0",
              "library": "\(name).so",
              "schemes": ["\(name)"],
              "settings": {
                "greeting": { "type": "string", "default": "Hello", "description": "The word before the name." }
              },
              "conformance": {
                "loads": [{ "url": "\(name)://greet/World", "mime": "text/plain", "length": 14, "tags": ["small"] }]
              }
            }

            """
        let home = folder + "/" + name
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        try Data(manifest.utf8).write(to: URL(fileURLWithPath: "\(home)/\(name).plugin.json"))
        try Data().write(to: URL(fileURLWithPath: "\(home)/\(name).so"))
    }

    /// Without this check, a program that ignores manifests would have the best value.
    private static func checkThatManifestsAreRead(_ portolan: String, _ folder: String) throws {
        let (_, output) = try run(portolan, ["plugins", "list"], plugins: folder)
        let foundCount = output.split(separator: "\n").count { $0.contains("org.portolan.bench.bench") }
        guard foundCount != count else { return }
        throw MeasurementError(
            "\(portolan) finds \(foundCount) of the \(count) plugins in \(folder); see 'PORTOLAN_PLUGIN_PATH=\(folder) portolan plugins list'"
        )
    }

    private static func competitor(_ name: String, _ portolan: String, plugins folder: String) -> Competitor {
        Competitor(name, amount: startCount) {
            var tally = bench_tally()
            for _ in 0..<startCount {
                let (status, output) = try run(portolan, ["get", "data:,x"], plugins: folder)
                guard status == 0 else { throw MeasurementError("'portolan get data:,x' ended with status \(status)") }
                tally += bench_tally(of: Data(output.utf8).bytes)
            }
            return tally
        }
    }

    private static func run(_ program: String, _ arguments: [String], plugins folder: String) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["PORTOLAN_PLUGIN_PATH": folder]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }
}
