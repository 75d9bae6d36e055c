// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A copy of a library in a folder of its own, which goes with this. What lies beside the library can be reached beside the copy.
final class LibraryCopy {
    let path: String
    private let folder: String

    init(of library: String) throws(Unjudged) {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-judge-\(UUID().uuidString)").path
        path = folder + "/copy.so"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: library, toPath: path)
            // … with links to what lies beside it, which it may read.
            let original = URL(fileURLWithPath: library).deletingLastPathComponent().path
            for name in try FileManager.default.contentsOfDirectory(atPath: original).prefix(1000) where name != "copy.so" {
                try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: "\(original)/\(name)")
            }
        } catch {
            throw Unjudged("the library can't be copied into the temporary folder: \(error)")
        }
    }

    deinit {
        // `try?` because a copy that stays does no harm.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
