// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Uses the gzip plugin through the command line, with files from gzip(1).
@Suite(.blocking, .timeLimit(.minutes(5))) struct GzipTests {
    @Test(arguments: ["-1", "-9"]) func gzipFileIsDecompressed(_ level: String) throws {
        let program = try Program()
        try program.copyFixture("gzip.so")
        let outcome = try program.runScript(
            """
            (head -c 3000000 /dev/urandom; head -c 3000000 /dev/zero; base64 "$portolan" | head -c 3000000) > plain
            gzip \(level) -c plain > 'a chart.gz' && head -c 5 plain | gzip -c >> 'a chart.gz' && (cat plain; head -c 5 plain) | sha256sum
            "$portolan" get --plugin gzip.so "gzip:file://$PWD/a%20chart.gz" | sha256sum
            "$portolan" get -O --plugin gzip.so "gzip:file://$PWD/a%20chart.gz" && sha256sum < 'a chart'
            """)
        #expect(outcome.lines.count == 3)
        #expect(Set(outcome.lines).count == 1, "\(outcome.lines) \(outcome.errors)")
    }

    @Test(arguments: [0, 1, 9, 30, 20_000]) func truncatedFileFails(_ count: Int) throws {
        let program = try Program()
        try program.copyFixture("gzip.so")
        let outcome = try program.runScript(
            """
            head -c 40000 /dev/urandom | gzip -c 2>/dev/null | head -c \(count) > cut.gz
            "$portolan" get --plugin gzip.so "gzip:file://$PWD/cut.gz" > out
            """)
        let lines = outcome.errors
        #expect(outcome.status != 0)
        #expect(lines.count == 1 && lines[0].contains(count == 0 ? "is empty" : "end after \(count) bytes"), "\(lines)")
    }

    /// The file has only zeros, which gzip(1) compresses to a thousandth of their size.
    @Test func decompressionBombFailsAtTheLimit() throws {
        let program = try Program()
        try program.copyFixture("gzip.so")
        let outcome = try program.runScript(
            """
            head -c 40000000 /dev/zero | gzip -c > bomb.gz
            "$portolan" get --plugin gzip.so "gzip:file://$PWD/bomb.gz" | wc -c
            "$portolan" get --events --plugin gzip.so "gzip:file://$PWD/bomb.gz" -o out > events
            echo $?; tail -1 events; ls out 2>/dev/null
            """)
        let deliveredByteCount = outcome.lines.first.flatMap { Int($0) } ?? .max
        #expect(deliveredByteCount <= 17 << 20)
        #expect(outcome.lines.count == 3, "\(outcome.lines)")
        #expect(outcome.lines.dropFirst().first != "0")
        #expect(outcome.lines.last?.contains("limitExceeded") == true)
        #expect(outcome.errors.allSatisfy { $0.contains("maximumRatio") })
    }
}
