// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanFileSystem

/// The resume data of a running download, in a file beside its partial file: for a program that is killed.
///
/// It is written once, before the first byte, and so does not know the number of bytes: the partial file has it.
enum DownloadRecord {
    private static let suffix = ".json"
    /// Longer files are not records.
    private static let sizeLimit = 256 << 10

    private static func path(of file: PartialFile) -> String { file.path + suffix }

    /// Writes the record. Without it, only a crash loses the bytes, so a failure is no failure of the download.
    static func write(_ data: ResumeData, of file: PartialFile) {
        // One of another version must not stay.
        remove(of: file)
        guard let bytes = try? JSONEncoder().encode(data), let record = try? FileSystem.create(path(of: file), mode: 0o600) else { return }
        do throws(SystemError) {
            try record.write(all: Array(bytes))
            try record.close()
        } catch {
            FileSystem.remove(path(of: file))
        }
    }

    static func remove(of file: PartialFile) { FileSystem.remove(path(of: file)) }

    /// The record of this user that was written last, of those whose partial file exists and is not in use.
    static func latest(beside path: String) -> ResumeData? {
        // `try?` because a path that can't be resolved has no records.
        guard let target = try? FileSystem.destination(of: path) else { return nil }
        let (folder, finalName) = FileSystem.split(target)
        let candidates = ((try? FileSystem.names(in: folder)) ?? []).filter { name in
            name.hasSuffix(suffix) && PartialFile.isTemporaryName(String(name.dropLast(suffix.count)), of: finalName)
        }
        let readable = candidates.compactMap { name -> (time: Int64, data: ResumeData)? in
            guard let (bytes, time) = FileSystem.ownContents(of: folder + name, atMost: sizeLimit),
                let data = try? JSONDecoder().decode(ResumeData.self, from: Data(bytes)), data.partialName + suffix == name,
                // Also a lock: a download that runs is not interrupted.
                let file = try? PartialFile(continuing: data.partialName, for: target, collision: .renames)
            else { return nil }
            file.close()
            return (time, data)
        }
        return readable.max { $0.time < $1.time }?.data
    }
}
