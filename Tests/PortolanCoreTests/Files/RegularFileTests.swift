// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct RegularFileTests {
    static let errnoRows: [(number: CInt, code: LoadError.Code)] = [
        (ENOENT, .notFound), (ENOTDIR, .notFound), (ENAMETOOLONG, .notFound), (EACCES, .accessDenied), (EPERM, .accessDenied),
        (EISDIR, .isDirectory), (ENXIO, .notRegularFile), (ENODEV, .notRegularFile), (EMFILE, .noResources), (ENFILE, .noResources),
        (ENOMEM, .noMemory), (EIO, .ioFailed), (ELOOP, .ioFailed), (ESTALE, .ioFailed), (EINVAL, .ioFailed), (9999, .ioFailed),
    ]

    @Test(arguments: errnoRows, LoadError.FileSystemCall.allCases)
    func eachErrnoMapsToAnErrorCode(_ row: (number: CInt, code: LoadError.Code), _ call: LoadError.FileSystemCall) throws {
        let path = try #require(LocalPath("/some/file"))
        let error = LoadError.fileSystem(call, row.number, path)
        #expect(error.code == row.code)
        #expect(error.message.contains("'/some/file'"))
        if row.code == .ioFailed { #expect(error.message.contains(call.rawValue)) }
    }

    @Test func fileWithoutReadPermissionIsDenied() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("secret".utf8, to: "f")
        try folder.setPermissions("f", 0)
        let local = try #require(LocalPath(path))
        #expect(try openingError(asNobody: local)?.code == .accessDenied)
    }

    @Test func fileInAFolderWithoutPermissionIsDenied() throws {
        let folder = try TemporaryFolder()
        let local = try #require(LocalPath(try folder.write("secret".utf8, to: "closed/f")))
        try folder.setPermissions("closed", 0)
        #expect(try openingError(asNobody: local)?.code == .accessDenied)
        try folder.setPermissions("closed", 0o700)
    }

    /// The error of opening the file. If the process runs as root, which may read every file, this thread opens the
    /// file as the user nobody (`setfsuid(2)`).
    private func openingError(asNobody path: LocalPath) throws -> LoadError? {
        typealias SetUser = @convention(c) (uid_t) -> CInt
        let address = unsafe dlsym(nil, "setfsuid")
        let setFileSystemUser = try #require(unsafe address.map { unsafe unsafeBitCast($0, to: SetUser.self) }, "no setfsuid(2) here")
        let isRoot = geteuid() == 0
        if isRoot { _ = setFileSystemUser(65534) }
        defer { if isRoot { _ = setFileSystemUser(0) } }
        do throws(LoadError) {
            _ = try RegularFile(at: path)
            return nil
        } catch {
            return error
        }
    }

    /// If the FIFO were opened and closed, a writer that waits for a reader would continue, and then lose its reader.
    @Test func fifoIsNotOpened() throws {
        let folder = try TemporaryFolder()
        try folder.makeFIFO("entry")
        #expect(try openCount(of: "entry", in: folder) == 0)
        try folder.replace("entry", by: [])
        #expect(try openCount(of: "entry", in: folder) == 1)
    }

    /// The number of times that `RegularFile(at:)` opens the entry, as counted by `inotify(7)`.
    private func openCount(of name: String, in folder: TemporaryFolder) throws -> Int {
        let local = try #require(LocalPath(folder.path(of: name)))
        let watcher = inotify_init1(CInt(IN_NONBLOCK))
        defer { close(watcher) }
        let watch = unsafe inotify_add_watch(watcher, folder.path(of: name), UInt32(IN_OPEN))
        try #require(watch >= 0)
        _ = try? RegularFile(at: local).size
        let events = [UInt8](capacity: 4096) { output in
            unsafe output.withUnsafeMutableBytes { bytes, count in count = max(0, unsafe read(watcher, bytes.baseAddress, bytes.count)) }
        }
        return events.count / MemoryLayout<inotify_event>.stride
    }

    @Test func pathWithNULIsRejectedAndDescriptionsHaveOneLine() {
        #expect(LocalPath("") == nil)
        #expect(LocalPath("a\u{0}b") == nil)
        #expect(LocalPath("a\nb\u{7}")?.description == #"a\nb\u{07}"#)
        #expect(LocalPath("/a/größe.txt").map { Array($0.lastComponent) } == Array("größe.txt".utf8))
        #expect(LocalPath("/a/").map { Array($0.lastComponent) } == [])
        #expect(LocalPath([0xFF, 0x41])?.description == "\u{FFFD}A")
    }

    @Test(arguments: [(0, ""), (3, "345"), (10, ""), (8, "89"), (100, "")]) func readStartsAtTheOffset(_ offset: Int64, _ text: String)
        throws
    {
        let folder = try TemporaryFolder()
        let file = try RegularFile(at: try #require(LocalPath(try folder.write("0123456789".utf8, to: "f"))))
        #expect(file.size == 10)
        let limit = offset == 0 ? 0 : 3
        let bytes = try [UInt8](capacity: 16) { output throws(LoadError) in _ = try file.read(into: &output, atMost: limit, from: offset) }
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test(arguments: [0, 4, 10, 100]) func contentsAreLimited(_ limit: Int) throws {
        let folder = try TemporaryFolder()
        let file = try RegularFile(at: try #require(LocalPath(try folder.write("0123456789".utf8, to: "f"))))
        #expect(try file.contents(atMost: limit) == Array("0123456789".utf8.prefix(limit)))
    }

    @Test func descriptorIsClosedWithTheValue() throws {
        let folder = try TemporaryFolder()
        let path = try #require(LocalPath(try folder.write("x".utf8, to: "f")))
        do {
            let file = try RegularFile(at: path)
            #expect(folder.openDescriptorCount == 1)
            _ = file.size
        }
        #expect(folder.openDescriptorCount == 0)
    }
}
