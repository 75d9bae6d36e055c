// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file with a temporary name, which gets its final name when it is complete. So a file with the final name is always
/// complete. A crash of the machine can still damage it, because nothing waits for the disk (fsync(2)): curl does not
/// either, and a large file would take much longer.
///
/// If a file with the final name exists, the new file replaces it, and gets its owner, group, permissions, access
/// control list and extended attributes. Other hard links of the old file keep the old contents.
///
/// All errors have the code ``LoadError/Code/ioFailed``.
package struct PartialFile: Sendable {
    /// What to do if a file with the final name exists.
    package enum Collision: Sendable {
        case replaces, fails
        /// The new file gets the first free name of `name.1`, `name.2`, … A long name is shortened before the number.
        case renames
    }

    package let descriptor: Descriptor
    package let path: String
    /// The path that the file gets, unless it gets another name because of ``Collision/renames``.
    package let finalPath: String
    private let collision: Collision
    private let isPrivate: Bool
    /// The metadata of the file to replace; `nil` if there is none.
    private let oldMetadata: FileMetadata?

    /// Whether the file replaces another one, whose permissions it gets.
    package var replacesFile: Bool { oldMetadata != nil }

    /// Creates the file.
    ///
    /// - Parameters:
    ///   - target: the final path, of a regular file that can be missing.
    ///   - isPrivate: whether only the owner can read the file, even if it replaces a file that others can read.
    ///   - willCreate: receives both paths before the file exists.
    package init(
        for target: String, collision: Collision, isPrivate: Bool = false,
        willCreate: (_ path: String, _ finalPath: String) -> Void = { _, _ in }
    ) throws(LoadError) {
        (finalPath, oldMetadata) = try Self.check(target, collision)
        (self.collision, self.isPrivate) = (collision, isPrivate)
        path = Self.temporaryPath(beside: finalPath)
        willCreate(path, finalPath)
        do throws(SystemError) {
            // Other users must not read the file before it has the permissions of the old file.
            descriptor = try FileSystem.create(path, mode: oldMetadata == nil && !isPrivate ? 0o666 : 0o600)
        } catch {
            let folder = FileSystem.split(finalPath).folder
            guard let problem = FileSystem.problem(withFolder: folder) else {
                throw LoadError(.ioFailed, message: "cannot create a file in the folder of '\(target)': \(error)")
            }
            throw LoadError(.ioFailed, message: "cannot write '\(target)': \(problem)")
        }
    }

    /// Opens a file that an earlier `PartialFile` has left, to append bytes.
    ///
    /// The name can come from anywhere: it must be one of ``temporaryPath(beside:)`` for this target, and belong to a
    /// regular file of this user with one hard link, which no other program writes.
    ///
    /// - Parameter name: without folder.
    package init(continuing name: String, for target: String, collision: Collision) throws(LoadError) {
        (finalPath, oldMetadata) = try Self.check(target, collision)
        (self.collision, isPrivate) = (collision, false)
        let (folder, finalName) = FileSystem.split(finalPath)
        guard Self.isTemporaryName(name, of: finalName) else {
            throw LoadError(.ioFailed, message: "the partial file of '\(target)' can't have the name \(QuotedText(name))")
        }
        path = folder + name
        do throws(SystemError) {
            descriptor = try FileSystem.openOwnForAppending(path)
        } catch {
            throw LoadError(.ioFailed, message: "the partial file '\(path)' can't be continued: \(error)")
        }
    }

    /// Returns the final path, and the metadata of the file that it names.
    private static func check(_ target: String, _ collision: Collision) throws(LoadError) -> (path: String, FileMetadata?) {
        guard !target.utf8.contains(0) else {
            throw LoadError(.ioFailed, message: "cannot write \(QuotedText(target)): the path contains a NUL")
        }
        let finalPath = collision == .replaces ? try destination(of: target) : target
        if collision == .renames { return (finalPath, nil) }
        let kind = FileSystem.kind(at: finalPath)
        if collision == .fails {
            guard kind == nil else { throw existingFileError(target) }
            guard !FileSystem.isLink(target) else { throw danglingLinkError(target) }
        }
        switch kind {
        case .directory, .special: throw LoadError(.ioFailed, message: "'\(target)' is not a regular file")
        case .regular where !FileSystem.isWritable(finalPath):
            throw LoadError(.ioFailed, message: "cannot write '\(target)': the file is not writable")
        case .regular where FileSystem.isProtectedByStickyBit(finalPath):
            throw LoadError(.ioFailed, message: "cannot write '\(target)': only its owner may replace it in this folder (sticky bit)")
        case .regular:
            do throws(SystemError) {
                return (finalPath, try FileMetadata(ofFileAt: finalPath))
            } catch {
                throw LoadError(.ioFailed, message: "cannot read the attributes of '\(target)': \(error)")
            }
        case nil: return (finalPath, nil)
        }
    }

    /// Returns the path without symbolic links, so that the new file replaces the file and not the link to it. The file
    /// can be missing.
    private static func destination(of target: String) throws(LoadError) -> String {
        do throws(SystemError) {
            return try FileSystem.destination(of: target)
        } catch {
            throw LoadError(.ioFailed, message: "cannot write '\(target)': \(error)")
        }
    }

    /// Checks before a load whether the program can write a file with this path.
    package static func probe(_ path: String) throws(LoadError) {
        let file = try PartialFile(for: path, collision: .replaces, isPrivate: true)
        file.discard()
        file.close()
    }

    /// Ends the lock, and closes the file. Ignores an error: an incomplete file may lose bytes, and
    /// ``complete(modified:)`` checks for errors before it closes the file.
    package func close() {
        FileSystem.unlock(descriptor)
        try? descriptor.close()
    }

    /// A file that has its final name.
    package struct Completion: Sendable {
        package let path: String
        /// What differs from the replaced file, as sentences for the user.
        package let warnings: [String]
    }

    /// Gives the file its final name, and closes it. If that fails, the file stays open, with its temporary name.
    ///
    /// - Parameter modified: the time of the last modification, in seconds since 1970; `nil` for the time of the last
    ///   write.
    @discardableResult
    package func complete(modified: Int64? = nil) throws(LoadError) -> Completion {
        var lostProperties: [String] = []
        let completePath: String
        do throws(SystemError) {
            lostProperties = try oldMetadata?.apply(to: descriptor, isPrivate: isPrivate) ?? []
            if let modified { try FileSystem.setModificationTime(modified, of: descriptor) }
            // A close reports the late errors of network file systems. `try?` because a process without free
            // descriptors must not lose the file.
            if let copy = try? descriptor.copy() { try copy.close() }
            completePath = try moveToFinalPath()
        } catch {
            throw LoadError(.ioFailed, message: "cannot write '\(finalPath)': \(error)")
        }
        // Last, because it ends the lock: while the file has its temporary name, no other download may continue it.
        close()
        var warnings: [String] = []
        if !lostProperties.isEmpty {
            warnings.append("the new '\(finalPath)' lost properties of the old file: \(lostProperties.joined(separator: ", "))")
        }
        if let count = oldMetadata?.hardLinkCount, count > 1 {
            warnings.append("'\(finalPath)' was one of \(count) hard links to a file; the others keep the old contents")
        }
        return Completion(path: completePath, warnings: warnings)
    }

    package func discard() {
        FileSystem.remove(path)
    }

    /// The largest number behind a name. More files with one name are an error of a program.
    private static let largestNumber = 9999

    /// - Returns: the path that the file now has.
    private func moveToFinalPath() throws(SystemError) -> String {
        if collision == .replaces {
            try FileSystem.move(path, to: finalPath)
            return finalPath
        }
        for number in 0...(collision == .renames ? Self.largestNumber : 0) {
            let target = number == 0 ? finalPath : Self.path(finalPath, numbered: number)
            do throws(SystemError) {
                try FileSystem.moveWithoutReplacing(path, to: target)
                return target
            } catch {
                guard error.isExistingFile else { throw error }
            }
        }
        throw .existingFile
    }

    private static func path(_ path: String, numbered number: Int) -> String {
        let (folder, name) = FileSystem.split(path)
        let ending = ".\(number)"
        return folder + shortened(name, to: 255 - ending.utf8.count) + ending  // NAME_MAX is 255
    }

    /// - Parameter limit: the largest number of bytes in UTF-8.
    private static func shortened(_ name: String, to limit: Int) -> String {
        var name = name
        while name.utf8.count > limit { name.unicodeScalars.removeLast() }
        return name
    }

    /// Writes a complete file, and replaces an existing one.
    ///
    /// - Returns: the warnings of ``Completion``.
    @discardableResult
    package static func write(_ bytes: [UInt8], to path: String, isPrivate: Bool = false) throws(LoadError) -> [String] {
        let file = try PartialFile(for: path, collision: .replaces, isPrivate: isPrivate)
        do throws(LoadError) {
            do throws(SystemError) { try file.descriptor.write(all: bytes) } catch {
                throw LoadError(.ioFailed, message: "writing '\(path)' failed: \(error)")
            }
            return try file.complete().warnings
        } catch {
            file.discard()
            file.close()
            throw error
        }
    }

    package static func existingFileError(_ path: String) -> LoadError {
        LoadError(.ioFailed, message: "'\(path)' exists and is not overwritten", remedy: .chooseFilename)
    }

    private static func danglingLinkError(_ path: String) -> LoadError {
        LoadError(
            .ioFailed,
            message: "'\(path)' is a symbolic link to a file that does not exist, and is not overwritten", remedy: .chooseFilename)
    }

    // MARK: - Temporary names

    private static let suffix = ".part"
    private static let digitCount = 16

    /// Returns a hidden name in the same folder, so that the final move stays within one file system.
    private static func temporaryPath(beside path: String) -> String {
        let (folder, name) = FileSystem.split(path)
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        return folder + prefix(of: name) + String(repeating: "0", count: digitCount - digits.utf8.count) + digits + suffix
    }

    private static func prefix(of name: String) -> String { ".\(shortened(name, to: 200))." }

    /// Returns the name of the complete file, or its beginning if it has more than 200 bytes. The result has no meaning
    /// if `name` is not one of ``temporaryPath(beside:)``.
    package static func finalName(ofTemporaryName name: String) -> String {
        String(decoding: Array(name.utf8.dropFirst().dropLast(1 + digitCount + suffix.utf8.count)), as: UTF8.self)
    }

    /// Whether `name` can be the name of the partial file of the file `finalName` in the same folder.
    package static func isTemporaryName(_ name: String, of finalName: String) -> Bool {
        let (octets, prefix) = (Array(name.utf8), Array(prefix(of: finalName).utf8))
        guard octets.count == prefix.count + digitCount + suffix.utf8.count, octets.starts(with: prefix), name.hasSuffix(suffix) else {
            return false
        }
        return octets[prefix.count..<prefix.count + digitCount].allSatisfy { octet in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(octet)
        }
    }
}
