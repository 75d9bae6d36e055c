// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file that is being written under a name of its own, and gets its real one when it is whole.
///
/// So everybody who finds a file under the real name finds all of it. A file that was there is replaced by the new one, which gets its owner, group,
/// permissions, access control list and extended attributes. Its other names (hard links) keep the old contents.
struct PartialFile: Sendable {
    /// What happens where the real name is taken.
    enum Collision { case replaces, fails }

    let descriptor: Descriptor
    let path: String
    private let finalPath: String
    private let collision: Collision
    private let isPrivate: Bool
    /// What the file in whose place this one comes has beside its contents.
    private let replaced: FileTraits?

    /// - Parameters:
    ///   - target: where the file shall be in the end: a regular file, or nothing yet.
    ///   - isPrivate: nobody but the owner may read it, also where it replaces a file that others may read.
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
        case .directory, .special: throw Failure(.writeFailed, "'\(target)' is no regular file")
        case .regular where !FileSystem.isWritable(finalPath):
            throw Failure(.writeFailed, "cannot write '\(target)': it may not be changed")
        case .regular where FileSystem.isSticky(finalPath):
            throw Failure(.writeFailed, "cannot write '\(target)': in this folder only its owner may replace it (sticky bit)")
        case .regular, nil: break
        }
        do throws(SystemError) {
            replaced = if case .regular = kind { try FileTraits(ofFileAt: finalPath) } else { nil }
            // Nobody else reads it before it has the permissions of the old one.
            descriptor = try FileSystem.create(path, mode: replaced == nil && !isPrivate ? 0o666 : 0o600)
        } catch {
            throw Failure(.writeFailed, "cannot create a file beside '\(target)': \(error)")
        }
    }

    /// Where `target` leads: through a link the file behind it is written, also one that does not exist yet, and the link stays.
    private static func destination(of target: String) throws(Failure) -> String {
        do throws(SystemError) {
            return try FileSystem.destination(of: target)
        } catch {
            throw Failure(.writeFailed, "cannot write '\(target)': \(error)")
        }
    }

    /// Finds out whether `path` can be written, before anything is loaded for it.
    static func probe(_ path: String) throws(Failure) {
        let file = try PartialFile(for: path, collision: .replaces, isPrivate: true)
        file.discard()
        // `try?` because nothing was written.
        try? file.descriptor.close()
    }

    /// Gives the file its real name.
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
            Diagnostics.warn("the new '\(finalPath)' could not keep of the old one: \(lost.joined(separator: ", "))")
        }
        if let count = replaced?.nameCount, count > 1 {
            Diagnostics.warn("'\(finalPath)' was one of \(count) names of a file (hard links); under the others it has the old contents")
        }
    }

    func discard() {
        FileSystem.remove(path)
    }

    /// Takes the name with an empty file, so that the move replaces nothing but that.
    private func reserveFinalPath() throws(SystemError) {
        try FileSystem.create(finalPath).close()
    }

    /// Writes a whole file, in the place of one that is there.
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

    /// A hidden name in the same folder, so that the last step is a move within one file system.
    private static func temporaryPath(beside path: String) -> String {
        var (folder, name) = FileSystem.split(path)
        while name.utf8.count > 200 { name.removeLast() }  // NAME_MAX is 255
        return "\(folder).\(name).\(String(UInt64.random(in: 0 ... .max), radix: 16)).part"
    }
}
