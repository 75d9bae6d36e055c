// SPDX-License-Identifier: Apache-2.0

import Testing

extension BenchTests {
    struct CommandLineTests {
        @Test func everyRowIsListed() throws {
            let outcome = try BenchProgram.run(["--list"])
            let names = outcome.output.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
            #expect(
                names == [
                    "data-8MiB", "data-tiny", "file-1GiB", "stream-pair", "stream-sockets", "stream-tcp", "stream-tls",
                    "registry-10", "registry-10000", "cookies-10000", "boundary-event",
                    "boundary-bulk", "echo-kit",
                    "echo-kit-64",
                    "ffi", "ffi-variadic", "gzip",
                    "manifests-1000", "http-get", "http-get-policies", "http-get-blocking", "http-get-async", "http-64", "http-64-async",
                    "cache-memory", "cache-validated", "cache-disk", "cache-disk-64m", "https-get",
                    "https-64", "http2-get", "http2-64", "http-1GiB", "https-1GiB", "http2-1GiB", "http-1GiB-memory",
                    "http-64-paused-memory", "download", "http-gzip",
                ])
        }

        @Test func gridHasItsOwnRows() throws {
            let outcome = try BenchProgram.run(["--grid", "--list"])
            let names = outcome.output.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
            #expect(names.count == 16)
            #expect(names.first == "grid-1x1KiB")
            #expect(names.last == "grid-1x1GiB", "more concurrent loads of this size would take too long")
            #expect(try BenchProgram.run(["--grid", "--row", "http-get"]).status == 64)
        }

        @Test func failedRowIsNamedAndTheOthersAreMeasured() throws {
            let outcome = try BenchProgram.run([
                "--row", "boundary-event", "--row", "registry-10", "--rounds", "1", "--plugins", "/nowhere",
            ])
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("bench: boundary-event: /nowhere/events.so does not exist; run 'make bench' to build it"))
            #expect(outcome.results.map(\.name) == ["registry-10"], "the other rows are measured")
            #expect(outcome.report?.contains("<b>registry-10</b>") == true)
        }

        @Test(arguments: [("--row", "nosuch"), ("--rounds", "0"), ("--rounds", "1001"), ("--divisor", "0")])
        func invalidOptionsAreRefused(option: String, value: String) throws {
            let outcome = try BenchProgram.run([option, value])
            #expect(outcome.status == 64)
            #expect(outcome.errors.contains("\(option) \(value): "))
            #expect(outcome.output.isEmpty)
        }

        @Test func unknownSlowRowIsRefused() throws {
            let outcome = try BenchProgram.run(["--row", "registry-10"], slow: "registry")
            #expect(outcome.status == 64)
            #expect(outcome.errors.contains("BENCH_SLOW registry: there is no such row; the rows are data-8MiB, "))
        }
    }
}
