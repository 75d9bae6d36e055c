// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan

/// A compressed file through the Gzip plugin, which loads it through the host. The rate counts the decoded bytes.
enum GzipRow {
    static let size = 128 << 20
    /// The file's name without its suffix.
    static let name = "log-128MiB"

    static func make(_ fixture: Fixture) throws -> Row {
        let loader = try fixture.loader(withPlugin: "gzip.so")
        let path = try file(fixture)
        let request = try Request("gzip:" + URL(fileURLWithPath: path).absoluteString)
        return Row(
            unit: .gigabytesPerSecond,
            subject: Competitor("portolan", amount: size) { try await TallyingDelegate.load(request, with: loader) },
            peers: [Inflate.competitor(inflating: path, amount: size)],
            budget: .atLeast(0.95, of: "zlib"))
    }

    /// - Returns: the path of the compressed file.
    static func file(_ fixture: Fixture) throws -> String {
        try fixture.file(name + ".gz", make: write)
    }

    private static func write(to path: String) throws {
        var source = TestBytes(seed: 3)
        let file = try GzipFileWriter(creating: path)
        for _ in 0..<size / (8 << 20) { try file.write(source.log(8 << 20)) }
        try file.close()
    }
}
