// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file with a temporary name, which gets its final name when it is complete. So a file with the final name is always
/// complete.
///
/// If a file with the final name exists, the new file replaces it, and gets its owner, group, permissions, access
/// control list and extended attributes. Other hard links of the old file keep the old contents.
struct PartialFile: Sendable {
    /// What to do if a file with the final name exists.
    enum Collision { case replaces, fails }

    let descriptor: Descriptor
    let path: String
    let finalPath: String
    private let collision: Collision
    private let isPrivate: Bool
    /// The metadata of the file with the final name; `nil` if there is none.
    private let oldMetadata: FileMetadata?

    /// - Parameters:
    ///   - target: the final path, of a regular file that can be missing.
    ///   - isPrivate: whether only the owner can read the file, even if it replaces a file that others can read.
    init(for target: String, collision: Collision, isPrivate: Bool = false) throws(Failure) {
        finalPath = collision == .replaces ? try Self.destination(of: target) : target
        self.collision = collision
        self.isPrivate = isPrivate
        let kind = FileSystem.kind(at: finalPath)
        if collision == .fails {
            guard kind == nil else { throw Self.existingFileFailure(target) }
            guard !FileSystem.isLink(target) else { throw Self.danglingLinkFailure(target) }
        }
        path = Self.temporaryPath(beside: finalPath)
        switch kind {
        case .directory, .special: throw Failure(.writeFailed, "'\(target)' is not a regular file")
        case .regular where !FileSystem.isWritable(finalPath):
            throw Failure(.writeFailed, "cannot write '\(target)': the file is not writable")
        case .regular where FileSystem.isProtectedByStickyBit(finalPath):
            throw Failure(.writeFailed, "cannot write '\(target)': only its owner may replace it in this folder (sticky bit)")
        case .regular, nil: break
        }
        do throws(SystemError) {
            oldMetadata = if case .regular = kind { try FileMetadata(ofFileAt: finalPath) } else { nil }
            // Other users must not read the file before it has the permissions of the old file.
            descriptor = try FileSystem.create(path, mode: oldMetadata == nil && !isPrivate ? 0o666 : 0o600)
        } catch {
            let folder = FileSystem.split(finalPath).folder
            guard let problem = FileSystem.problem(withFolder: folder) else {
                throw Failure(.writeFailed, "cannot create a file in the folder of '\(target)': \(error)")
            }
            throw Failure(.writeFailed, "cannot write '\(target)': \(problem)")
        }
    }

    /// Returns the path without symbolic links, so that the new file replaces the file and not the link to it. The file
    /// can be missing.
    private static func destination(of target: String) throws(Failure) -> String {
        do throws(SystemError) {
            return try FileSystem.destination(of: target)
        } catch {
            throw Failure(.writeFailed, "cannot write '\(target)': \(error)")
        }
    }

    /// Checks before a load whether the program can write a file with this path.
    static func probe(_ path: String) throws(Failure) {
        let file = try PartialFile(for: path, collision: .replaces, isPrivate: true)
        file.discard()
        // `try?` because nothing was written.
        try? file.descriptor.close()
    }

    /// Gives the file its final name.
    ///
    /// - Parameter modified: the time of the last change, in seconds since 1970; `nil` for now.
    func complete(modified: Int64? = nil) throws(Failure) {
        let lostProperties: [String]
        do throws(SystemError) {
            lostProperties = try oldMetadata?.apply(to: descriptor, isPrivate: isPrivate) ?? []
            if let modified { try FileSystem.setModificationTime(modified, of: descriptor) }
            try descriptor.close()
            if collision == .fails { try reserveFinalPath() }
            try FileSystem.move(path, to: finalPath)
        } catch {
            discard()
            throw Failure(.writeFailed, "cannot write '\(finalPath)': \(error)")
        }
        if !lostProperties.isEmpty {
            Diagnostics.warn("the new '\(finalPath)' lost properties of the old file: \(lostProperties.joined(separator: ", "))")
        }
        if let count = oldMetadata?.hardLinkCount, count > 1 {
            Diagnostics.warn("'\(finalPath)' was one of \(count) hard links to a file; the others keep the old contents")
        }
    }

    func discard() {
        FileSystem.remove(path)
    }

    /// Creates an empty file with the final name, so that the move cannot replace a file of another program.
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

    static func existingFileFailure(_ path: String) -> Failure {
        Failure(.writeFailed, "'\(path)' exists and is not overwritten; choose a name with -o")
    }

    private static func danglingLinkFailure(_ path: String) -> Failure {
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
