// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
package import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A copy of a library in a private temporary folder.
///
/// The copy must find the same files beside itself as the original (`$ORIGIN` of `ld.so(8)`, `dladdr(3)`). Private
/// folders therefore mirror the library's folder and the two above it, with links to their entries. The private
/// folders are deleted when the library is open. After that, the copy's path leads to the folder of the original.
package final class LibraryCopy {
    /// The path of the copy.
    package let path: String
    /// The private folders. Each contains the next one.
    private let folders: [String]
    /// The descriptor of the copy's folder, if ``path`` is in `/proc/self/fd`. Otherwise -1.
    private let descriptor: CInt
    private let originalFolder: String
    private var isLibraryOpen = false

    /// The folder for copies. `nil` for ``temporaryFolder``.
    package static let parent = Mutex<String?>(nil)
    /// How many folders above the library's own folder have a mirror.
    private static let depth = 2
    /// How many entries of a folder are linked at most.
    private static let linkLimit = 4096

    /// Copies the library at `source`. The copy exists until this object is released.
    package convenience init(of source: String) throws(LoadError) {
        let file = unsafe open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        defer { if file >= 0 { close(file) } }
        do throws(SystemCallError) {
            guard file >= 0 else { throw .last }
            try self.init(of: source, file, willBeOpened: false)
        } catch {
            throw LoadError(library: source, .libraryOpens, "it can't be copied: \(error)")
        }
    }

    /// Copies the contents of `source`.
    ///
    /// - Parameters:
    ///   - source: the path; contains a slash.
    ///   - file: the descriptor of the open file.
    ///   - willBeOpened: whether ``libraryDidOpen()`` will be called.
    init(of source: String, _ file: CInt, willBeOpened: Bool = true) throws(SystemCallError) {
        let name = source.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(source[source.index(after: $0)...]) } ?? source
        let folder = Folder.parent(of: source) ?? "."
        guard let resolvedFolder = unsafe realpath(folder.isEmpty ? "/" : folder, nil) else { throw .last }
        defer { unsafe free(resolvedFolder) }
        originalFolder = unsafe String(cString: resolvedFolder)
        // This splits bytes, because a slash and a following combining mark are one Character.
        let names = originalFolder.utf8.split(separator: UInt8(ascii: "/")).compactMap { String($0) }
        let mirroredNames = names.suffix(Self.depth)
        var template = Array("\(Self.parent.withLock(\.self) ?? Self.temporaryFolder)/portolan-XXXXXX".utf8CString)
        // mkdtemp(3) makes a folder that no other user can access.
        guard unsafe mkdtemp(&template) != nil else { throw .last }
        var folders = [String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)]
        var folderDescriptor: CInt = -1
        do throws(SystemCallError) {
            var sourceFolder = "/" + names.dropLast(mirroredNames.count).joined(separator: "/")
            for name in mirroredNames {
                Self.link(sourceFolder, in: folders[folders.count - 1], except: name)
                sourceFolder += sourceFolder.hasSuffix("/") ? name : "/\(name)"
                let folder = "\(folders[folders.count - 1])/\(name)"
                guard unsafe mkdir(folder, 0o700) == 0 else { throw .last }
                folders.append(folder)
            }
            // A dollar has a special meaning for dlopen(3).
            let copyName = name.contains("$") ? "plugin.so" : name
            Self.link(sourceFolder, in: folders[folders.count - 1], except: copyName)
            var path = "\(folders[folders.count - 1])/\(copyName)"
            try Self.copy(file, to: path)
            if willBeOpened {
                folderDescriptor = unsafe open(folders[folders.count - 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                guard folderDescriptor >= 0 else { throw .last }
                path = "/proc/self/fd/\(folderDescriptor)/\(copyName)"
            }
            self.path = path
        } catch {
            if folderDescriptor >= 0 { close(folderDescriptor) }
            Self.remove(folders)
            throw error
        }
        (self.folders, descriptor) = (folders, folderDescriptor)
    }

    /// Makes the path lead to the folder of the original, and deletes the private folders.
    func libraryDidOpen() {
        guard !isLibraryOpen, descriptor >= 0 else { return }
        isLibraryOpen = true
        let folder = unsafe open(originalFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            dup2(folder, descriptor)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            close(folder)
        }
        Self.remove(folders)
    }

    deinit {
        // The linker keeps the path of an open library until the process ends, so the descriptor also stays open.
        guard !isLibraryOpen else { return }
        if descriptor >= 0 { close(descriptor) }
        Self.remove(folders)
    }

    // MARK: Folders

    /// Makes a link in `mirror` to each entry of `folder` except `exception`. Ignores entries that cannot be read or
    /// linked.
    private static func link(_ folder: String, in mirror: String, except exception: String) {
        var count = 0
        for name in entries(of: folder) where name != exception && count < linkLimit {
            count += 1
            unsafe symlink("\(folder)/\(name)", "\(mirror)/\(name)")
        }
    }

    private static func remove(_ folders: [String]) {
        for folder in folders.reversed() {
            for name in entries(of: folder) { unsafe unlink("\(folder)/\(name)") }
            unsafe rmdir(folder)
        }
    }

    /// Includes hidden entries, but not names that are not UTF-8.
    private static func entries(of folder: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { start in
                unsafe start.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(validatingCString: $0) }
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    // MARK: Bytes

    private static func copy(_ source: CInt, to path: String) throws(SystemCallError) {
        let target = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o500)
        guard target >= 0 else { throw .last }
        defer { close(target) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var offset: off_t = 0
        while true {
            let count = unsafe pread(source, &bytes, bytes.count, offset)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last }
            guard count > 0 else { return }
            var writtenCount = 0
            while writtenCount < count {
                let newCount = unsafe bytes.withUnsafeBytes {
                    unsafe write(target, $0.baseAddress.map { unsafe $0 + writtenCount }, count - writtenCount)
                }
                if newCount < 0, errno == EINTR { continue }
                guard newCount > 0 else { throw .last }
                writtenCount += newCount
            }
            offset += off_t(count)
        }
    }
}
