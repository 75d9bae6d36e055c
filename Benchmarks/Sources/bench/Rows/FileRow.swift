// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan

/// A file of 1 GiB from the page cache, streamed to a delegate that reads the borrowed bytes in place.
enum FileRow {
    private static let size = 1 << 30

    static func make(_ fixture: Fixture) throws -> Row {
        let path = fixture.scratch + "/" + (try fixture.noiseFile(size))
        let url = URL(fileURLWithPath: path).absoluteString
        let request = try Request(url)
        return Row(
            unit: .gigabytesPerSecond,
            subject: Competitor("portolan", amount: size) { try await TallyingDelegate.load(request, with: .shared) },
            peers: [ReadLoop.competitor(reading: path, amount: size), try LibCurl.competitor(loading: url, .largeBuffer, amount: size)],
            budget: .atLeast(0.9, of: "read"))
    }
}
