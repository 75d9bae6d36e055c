// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanFileSystem

/// The resume data of a running download, in a file beside its partial file, in case the program is killed.
///
/// It is written before the partial file is made, so that no kill leaves a partial file without it. It does not contain
/// the number of bytes, because that is the size of the partial file. The exception is a file with gaps
/// (``ParallelDownload``).
enum DownloadRecord {
    private static let suffix = ".json"
    /// Longer files are not records.
    private static let sizeLimit = 256 << 10

    /// Writes the record. A failure is ignored, because the download needs the record only if the program is killed.
    static func write(_ data: ResumeData, ofFileAt path: String) {
        // A record of another version of the resource must not stay.
        remove(ofFileAt: path)
        guard let bytes = try? JSONEncoder().encode(data), let record = try? FileSystem.create(path + suffix, mode: 0o600) else { return }
        finish(record, ofFileAt: path) { () throws(SystemError) in try record.write(all: Array(bytes)) }
    }

    /// Writes to a record and closes it. After an error, there is no record.
    private static func finish(_ record: Descriptor, ofFileAt path: String, _ write: () throws(SystemError) -> Void) {
        var hasFailed = false
        do throws(SystemError) { try write() } catch { hasFailed = true }
        do throws(SystemError) { try record.close() } catch { hasFailed = true }
        if hasFailed { remove(ofFileAt: path) }
    }

    /// Replaces the contents of a record. It is one small write, so a killed program leaves the old or the new
    /// contents.
    static func update(_ data: ResumeData, ofFileAt path: String) {
        // `try?` because a download without a record is only lost if the program is killed.
        guard let bytes = try? JSONEncoder().encode(data),
            let record = try? FileSystem.openForWriting(path + suffix, appends: false, followsLinks: false)
        else { return }
        let padding = max(0, (FileSystem.size(of: record) ?? 0) - Int64(bytes.count))
        let contents = Array(bytes) + [UInt8](repeating: UInt8(ascii: " "), count: Int(padding))
        finish(record, ofFileAt: path) { () throws(SystemError) in try unsafe record.write(all: contents.span.bytes, at: 0) }
    }

    static func remove(ofFileAt path: String) { FileSystem.remove(path + suffix) }

    /// Returns this user's newest record whose partial file exists and is not in use; `nil` if there is none. Also
    /// removes records without a partial file, which killed programs have left. A running download that is about to
    /// make its partial file can lose its record in this way. It then can't be continued if its program is killed.
    static func latest(beside path: String) -> ResumeData? {
        // `try?` because a path that can't be resolved has no records.
        guard let target = try? FileSystem.destination(of: path) else { return nil }
        let (folder, finalName) = FileSystem.split(target)
        let candidates = ((try? FileSystem.names(in: folder)) ?? []).filter { name in
            name.hasSuffix(suffix) && PartialFile.isTemporaryName(String(name.dropLast(suffix.count)), of: finalName)
        }
        for name in candidates where FileSystem.isMissing(folder + name.dropLast(suffix.count)) { FileSystem.remove(folder + name) }
        let readable = candidates.compactMap { name -> (time: Int64, data: ResumeData)? in
            guard let (bytes, time) = FileSystem.ownContents(of: folder + name, atMost: sizeLimit),
                let data = try? JSONDecoder().decode(ResumeData.self, from: Data(bytes)), data.partialName + suffix == name,
                // This also tries to lock the file, so the file of a running download is left out.
                let file = try? PartialFile(continuing: data, for: target, collision: .renames)
            else { return nil }
            file.close()
            return (time, data)
        }
        return readable.max { $0.time < $1.time }?.data
    }
}
