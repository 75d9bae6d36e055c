// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan

/// A compressed file through the Gzip plugin, which asks the host for it; the rate counts the bytes that come out.
enum GzipRow {
    private static let size = 128 << 20

    static func make(_ workshop: Workshop) throws -> Row {
        let loader = try workshop.loader(withPlugin: "gzip.so")
        let path = try workshop.file("log-128MiB.gz", make: write)
        let request = try Request("gzip:" + URL(fileURLWithPath: path).absoluteString)
        return Row(
            unit: .gigabytesPerSecond,
            subject: Contender("portolan", amount: size) { try await TallyingDelegate.load(request, with: loader) },
            peers: [Inflate.contender(inflating: path, amount: size)],
            budget: .atLeast(0.95, of: "zlib"))
    }

    private static func write(to path: String) throws {
        var source = TestBytes(seed: 3)
        let file = try GzipFile(creating: path)
        for _ in 0..<size / (8 << 20) { try file.write(source.log(8 << 20)) }
        try file.close()
    }
}
