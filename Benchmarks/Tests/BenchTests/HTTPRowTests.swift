// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension BenchTests {
    /// Tests the rows that need nginx, which `make bench-plugins` installs.
    struct HTTPRowTests {
        #if canImport(AsyncHTTPClient)
            private static let asyncHTTPClient: Set = ["AsyncHTTPClient"]
        #else
            private static let asyncHTTPClient: Set<String> = []
        #endif

        @Test func everyCompetitorReadsTheSameFromNginx() throws {
            let outcome = try BenchProgram.run(["--row", "http-get", "--row", "http-64", "--rounds", "1", "--divisor", "20"])
            #expect(outcome.errors == "")
            #expect(outcome.results.map(\.name) == ["http-get", "http-64"])
            let peers = outcome.results.map { Set($0.peers.keys) }
            #expect(peers.first == Self.asyncHTTPClient.union(["libcurl", "URLSession", "raw"]))
            #expect(peers.last == Self.asyncHTTPClient.union(["libcurl multi", "libcurl poll", "URLSession", "raw"]))
            #expect(outcome.results.allSatisfy { $0.value > 0 && $0.peers.values.allSatisfy { $0 > 0 } })
        }

        /// Also compares the tallies of HTTP/1.1 and HTTP/2 over TLS.
        @Test(arguments: ["https-64", "http2-64", "http-64-async"]) func everyCompetitorReadsTheSame(row: String) throws {
            let outcome = try BenchProgram.run(["--row", row, "--rounds", "1", "--divisor", "20"])
            #expect(outcome.errors == "")
            let result = try #require(outcome.results.first)
            #expect(result.name == row)
            #expect(Set(result.peers.keys) == Self.asyncHTTPClient.union(["libcurl multi", "libcurl poll", "raw"]))
            #expect(result.value > 0 && result.peers.values.allSatisfy { $0 > 0 })
        }

        @Test func missingServerIsReported() throws {
            let outcome = try BenchProgram.run(["--row", "http-get", "--row", "registry-10", "--rounds", "1", "--servers", "/nowhere"])
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("bench: http-get: /nowhere does not exist; "))
            #expect(outcome.results.map(\.name) == ["registry-10"])
        }

        /// Files show when nginx has started, and processes show when it has ended.
        @Test(.timeLimit(.minutes(1))) func killingTheProgramEndsItsServers() async throws {
            try BenchProgram.withFolder { folder in
                let process = try BenchProgram.start(
                    ["--grid", "--row", "grid-1x1KiB", "--row", "grid-1x32KiB", "--rounds", "1"], in: folder)
                // The file of the second row shows that nginx was running for the first one.
                while !FileManager.default.fileExists(atPath: folder.path + "/32KiB.bin") {
                    try #require(process.isRunning && !Task.isCancelled)
                }
                #expect(!Self.servers(of: folder).isEmpty)
                kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
                while !Self.servers(of: folder).isEmpty { try Task.checkCancellation() }
            }
        }

        /// Returns the processes whose command line names `folder`.
        private static func servers(of folder: URL) -> [String] {
            let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return processes.filter { process in
                guard Int(process) != nil, let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") else { return false }
                let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                return words.contains("--root") && words.contains(folder.path)
            }
        }
    }
}
