// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file at the path of a library. Checks the file before `dlopen(3)`, so that errors are readable and `dlopen(3)`
/// cannot crash.
struct LibraryFile: ~Copyable {
    /// The path, which contains a slash.
    private let location: String
    /// The path as the caller gave it, for messages.
    private let path: String
    private let descriptor: CInt
    private let status: FileStatus

    init(at location: String, calling path: String) throws(LoadError) {
        (self.location, self.path) = (location, path)
        descriptor = unsafe open(location, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.unreadable(path, .last) }
        do throws(SystemCallError) {
            status = try FileStatus(of: descriptor)
        } catch {
            close(descriptor)
            throw Self.unreadable(path, error)
        }
    }

    deinit { close(descriptor) }

    var identity: FileStatus.Identity { status.identity }

    private static func unreadable(_ path: String, _ error: SystemCallError) -> LoadError {
        LoadError(library: path, .libraryOpens, "it can't be read: \(error); check the path and its permissions")
    }

    /// Checks that the file is a complete library for this machine.
    func check() throws(LoadError) {
        var start = [UInt8](repeating: 0, count: ELFSegments.headerLength)
        let length = unsafe pread(descriptor, &start, start.count, 0)
        guard length >= 0 else { throw Self.unreadable(path, .last) }
        start = Array(start.prefix(length))
        guard let header = ELFHeader(start) else {
            throw LoadError(library: path, .libraryOpens, "it is not a shared library (ELF); give the path of the compiled plugin")
        }
        guard let expected = ELFHeader.ofThisProcess else { return }
        guard header == expected else {
            throw LoadError(
                library: path, .libraryOpens, "it is built for \(header), but this program for \(expected); compile it for this machine")
        }
        guard let end = ELFSegments.end(start, of: descriptor), end <= UInt64(clamping: status.size) else {
            throw LoadError(library: path, .libraryOpens, "it is incomplete; build it again, or wait until it is written")
        }
    }

    /// Checks that nobody has replaced or changed the file since `init`. `dlopen(3)` has then opened this file.
    func checkIsUnchanged() throws(LoadError) {
        // `try?` because a missing file was also changed.
        guard (try? FileStatus(following: location))?.identity == identity else {
            throw LoadError(library: path, .libraryOpens, "it was changed while it was opened; try again")
        }
    }

    // MARK: Copies

    /// Copies the library. Returns `nil` if no copy can be made in the temporary folder.
    func copyIfPossible() -> LibraryCopy? {
        do throws(SystemCallError) { return try LibraryCopy(of: location, descriptor) } catch { return nil }
    }

    func copy() throws(LoadError) -> LibraryCopy {
        do throws(SystemCallError) {
            return try LibraryCopy(of: location, descriptor)
        } catch {
            throw LoadError(
                library: path, .libraryOpens,
                "it was overwritten after it was opened, so it must be copied, but no copy can be made in the temporary folder: \(error); "
                    + "replace it by a new file of that name, as install(1) and mv(1) do, or set TMPDIR to another folder")
        }
    }
}
