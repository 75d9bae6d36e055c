// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file that is to be opened as a library, as it is now. Says in plain words what `dlopen(3)` would say darkly, or would not live to say.
struct LibraryFile: ~Copyable {
    /// With a slash.
    private let location: String
    /// What messages call it.
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

    /// Whether it is a whole library of this machine's.
    func check() throws(LoadError) {
        var start = [UInt8](repeating: 0, count: ELFSegments.headerLength)
        let length = unsafe pread(descriptor, &start, start.count, 0)
        guard length >= 0 else { throw Self.unreadable(path, .last) }
        start = Array(start.prefix(length))
        guard let header = ELFHeader(start) else {
            throw LoadError(library: path, .libraryOpens, "it is no shared library (ELF); give the path of the compiled plugin")
        }
        guard let expected = ELFHeader.ofThisProcess else { return }
        guard header == expected else {
            throw LoadError(
                library: path, .libraryOpens, "it is built for \(header), and this program for \(expected); compile it for this machine")
        }
        guard let end = ELFSegments.end(start, of: descriptor), end <= UInt64(clamping: status.size) else {
            throw LoadError(library: path, .libraryOpens, "it is cut short; build it again, or wait until it is written")
        }
    }

    /// The file was not replaced or written to since: what was opened by its name is this one.
    func checkIsStillThere() throws(LoadError) {
        // `try?` because a file that is no longer there is no longer this one.
        guard (try? FileStatus(following: location))?.identity == identity else {
            throw LoadError(library: path, .libraryOpens, "it was changed while it was opened; try again")
        }
    }

    // MARK: Copies

    /// `nil` where nothing can be written in the temporary folder.
    func copyIfPossible() -> LibraryCopy? {
        do throws(SystemCallError) { return try LibraryCopy(of: location, descriptor) } catch { return nil }
    }

    func copy() throws(LoadError) -> LibraryCopy {
        do throws(SystemCallError) {
            return try LibraryCopy(of: location, descriptor)
        } catch {
            throw LoadError(
                library: path, .libraryOpens,
                "it was written over since it was opened, so it has to be copied, and no copy can be made in the temporary folder: \(error); "
                    + "install it under its name as a new file, as install(1) and mv(1) do, or set TMPDIR to another folder")
        }
    }
}
