// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan

/// A file of 1 GiB from the page cache, streamed to a delegate that reads its bytes where they are lent.
enum FileRow {
    private static let size = 1 << 30

    static func make(_ workshop: Workshop) throws -> Row {
        let path = try workshop.file("1GiB.bin", make: write)
        let url = URL(fileURLWithPath: path).absoluteString
        let request = try Request(url)
        return Row(
            unit: .gigabytesPerSecond,
            subject: Contender("portolan", amount: size) { try await TallyingDelegate.load(request, with: .shared) },
            peers: [ReadLoop.contender(reading: path, amount: size), LibCurl.contender(loading: url, amount: size)],
            budget: .atLeast(0.9, of: "read"))
    }

    private static func write(to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path) else {
            throw Missing("\(path) can't be written; name another folder with --scratch")
        }
        defer { try? file.close() }
        var source = TestBytes(seed: 1)
        let piece = source.noise(16 << 20)
        for _ in 0..<size / piece.count { try file.write(contentsOf: piece) }
    }
}
