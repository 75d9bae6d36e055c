// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file that is written under a temporary name, and gets its final name when it is complete.
///
/// So a file under the final name is always complete. If a file existed, the new one replaces it and gets its owner,
/// group, permissions, access control list and extended attributes. Other hard links keep the old contents.
struct PartialFile: Sendable {
    /// The behavior if the final name exists.
    enum Collision { case replaces, fails }

    let descriptor: Descriptor
    let path: String
    private let finalPath: String
    private let collision: Collision
    private let isPrivate: Bool
    /// The metadata of the replaced file.
    private let replaced: FileTraits?

    /// - Parameters:
    ///   - target: the final path: a regular file, or nothing yet.
    ///   - isPrivate: whether only the owner may read the file, even if it replaces a file that others may read.
    init(for target: String, collision: Collision, isPrivate: Bool = false) throws(Failure) {
        finalPath = collision == .replaces ? try Self.destination(of: target) : target
        self.collision = collision
        self.isPrivate = isPrivate
        let kind = FileSystem.kind(at: finalPath)
        if collision == .fails {
            guard kind == nil else { throw Self.exists(target) }
            guard !FileSystem.isLink(target) else { throw Self.leadsNowhere(target) }
        }
        path = Self.temporaryPath(beside: finalPath)
        switch kind {
        case .directory, .special: throw Failure(.writeFailed, "'\(target)' is not a regular file")
        case .regular where !FileSystem.isWritable(finalPath):
            throw Failure(.writeFailed, "cannot write '\(target)': the file is not writable")
        case .regular where FileSystem.isSticky(finalPath):
            throw Failure(.writeFailed, "cannot write '\(target)': only its owner may replace it in this folder (sticky bit)")
        case .regular, nil: break
        }
        do throws(SystemError) {
            replaced = if case .regular = kind { try FileTraits(ofFileAt: finalPath) } else { nil }
            // Nobody else may read the file before it has the permissions of the old one.
            descriptor = try FileSystem.create(path, mode: replaced == nil && !isPrivate ? 0o666 : 0o600)
        } catch {
            throw Failure(.writeFailed, "cannot create a file beside '\(target)': \(error)")
        }
    }

    /// Returns the path behind `target`: for a link, the file that it leads to, which need not exist. The link stays.
    private static func destination(of target: String) throws(Failure) -> String {
        do throws(SystemError) {
            return try FileSystem.destination(of: target)
        } catch {
            throw Failure(.writeFailed, "cannot write '\(target)': \(error)")
        }
    }

    /// Checks whether `path` is writable, before any load for it.
    static func probe(_ path: String) throws(Failure) {
        let file = try PartialFile(for: path, collision: .replaces, isPrivate: true)
        file.discard()
        // `try?` because nothing was written.
        try? file.descriptor.close()
    }

    /// Gives the file its final name.
    func complete() throws(Failure) {
        let lost: [String]
        do throws(SystemError) {
            lost = try replaced?.give(to: descriptor, isPrivate: isPrivate) ?? []
            try descriptor.close()
            if collision == .fails { try reserveFinalPath() }
            try FileSystem.move(path, to: finalPath)
        } catch {
            discard()
            throw Failure(.writeFailed, "cannot write '\(finalPath)': \(error)")
        }
        if !lost.isEmpty {
            Diagnostics.warn("the new '\(finalPath)' lost properties of the old file: \(lost.joined(separator: ", "))")
        }
        if let count = replaced?.nameCount, count > 1 {
            Diagnostics.warn("'\(finalPath)' was one of \(count) hard links to a file; the others keep the old contents")
        }
    }

    func discard() {
        FileSystem.remove(path)
    }

    /// Reserves the name with an empty file, so that the move replaces only that file.
    private func reserveFinalPath() throws(SystemError) {
        try FileSystem.create(finalPath).close()
    }

    /// Writes a complete file, and replaces an existing one.
    static func write(_ bytes: [UInt8], to path: String, isPrivate: Bool = false) throws(Failure) {
        let file = try PartialFile(for: path, collision: .replaces, isPrivate: isPrivate)
        do throws(SystemError) {
            try file.descriptor.write(all: bytes)
        } catch {
            file.discard()
            throw Failure(.writeFailed, "writing '\(path)' failed: \(error)")
        }
        try file.complete()
    }

    static func exists(_ path: String) -> Failure {
        Failure(.writeFailed, "'\(path)' exists and is not overwritten; choose a name with -o")
    }

    private static func leadsNowhere(_ path: String) -> Failure {
        Failure(
            .writeFailed, "'\(path)' is a symbolic link to a file that does not exist, and is not overwritten; choose a name with -o")
    }

    /// Returns a hidden name in the same folder, so that the final move stays within one file system.
    private static func temporaryPath(beside path: String) -> String {
        var (folder, name) = FileSystem.split(path)
        while name.utf8.count > 200 { name.removeLast() }  // NAME_MAX is 255
        return "\(folder).\(name).\(String(UInt64.random(in: 0 ... .max), radix: 16)).part"
    }
}
