// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A copy of a library in a folder of its own, which goes with this.
final class LibraryCopy {
    let path: String
    private let folder: String

    init(of library: String) throws(Unjudged) {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-judge-\(UUID().uuidString)").path
        path = folder + "/copy.so"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: library, toPath: path)
        } catch {
            throw Unjudged("the library can't be copied into the temporary folder: \(error)")
        }
    }

    deinit {
        // `try?` because a copy that stays does no harm.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
