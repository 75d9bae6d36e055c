// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem
import PortolanTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ByteInputStream {
    /// A stream of the bytes of a regular file. ``StreamPropertyKey/currentOffset`` can be set, also before the stream
    /// is open.
    ///
    /// The file is opened by ``open()``. If it can't be opened, the stream fails with `LoadError.Code.notFound`,
    /// `LoadError.Code.accessDenied`, `LoadError.Code.isDirectory` or another code that says why. The stream ends
    /// where the file ends when the last byte is read. Reads wait for the disk.
    ///
    /// - Parameters:
    ///   - path: the path of the file. For a FIFO or a device, use ``init(descriptor:)``.
    ///   - range: the offsets of the bytes to read; `nil` for all. It may end behind the end of the file.
    public convenience init(path: String, range: Range<Int64>? = nil) { self.init(FileSource(path: path, range: range ?? 0..<Int64.max)) }
}

extension ByteOutputStream {
    /// Where the first byte of a stream to a file is written.
    public enum FilePosition: Sendable, Equatable {
        /// At the beginning. The earlier contents are removed.
        case replacing
        /// At the end, also if another process appends to the file at the same time (`O_APPEND`, open(2)).
        case appending
        /// At an offset from the beginning, in bytes. The other contents stay; a gap is filled with zeros.
        case offset(Int64)
    }

    /// A stream to a regular file, which is created if necessary, with the permissions 0666 without those of the umask.
    ///
    /// The file is opened by ``open()``. If it can't be opened, the stream fails with `LoadError.Code.notFound` if
    /// the folder does not exist, `LoadError.Code.accessDenied`, `LoadError.Code.isDirectory` or
    /// `LoadError.Code.ioFailed`. Each write is passed to the system immediately. Nothing is synchronised with the
    /// disk: fsync(2).
    public convenience init(path: String, at position: FilePosition = .replacing) { self.init(FileSink(path: path, at: position)) }
}

private final class FileSource: ByteSource {
    let waitsForDisk = true
    private let path: String
    private let range: Range<Int64>
    private let offset: Atomic<Int64>
    /// `nil` during a read, and while the stream is not open.
    private let file = Mutex<RegularFile?>(nil)

    init(path: String, range: Range<Int64>) {
        (self.path, self.range) = (path, range)
        offset = Atomic(range.lowerBound)
    }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        do throws(LoadError) {
            guard range.lowerBound >= 0 else {
                throw LoadError(.badRequest, message: "a stream of '\(path)' can't begin at byte \(range.lowerBound)")
            }
            guard let local = LocalPath(path) else {
                throw LoadError(.badRequest, message: "the path of a stream is empty or has a NUL character in it")
            }
            var opened = Optional(try RegularFile(at: local))
            file.withLock { $0 = opened.take() }
            completion(nil)
        } catch {
            completion(error)
        }
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let start = offset.load(ordering: .relaxed)
        let rest = range.upperBound - start
        guard rest > 0 else { return .end }
        guard let file = file.withLock({ $0.take() }) else { return .end }
        let result = read(file, into: &buffer, atMost: Int(clamping: rest), from: start)
        // The stream does not close the source during a read.
        var returned = Optional(file)
        self.file.withLock { $0 = returned.take() }
        return result
    }

    private func read(_ file: borrowing RegularFile, into buffer: inout OutputRawSpan, atMost limit: Int, from start: Int64) -> BodyRead {
        do throws(LoadError) {
            let count = try file.read(into: &buffer, atMost: limit, from: start)
            guard count > 0 else { return .end }
            offset.store(start + Int64(count), ordering: .relaxed)
            return .bytes
        } catch {
            return .failed(error)
        }
    }

    func property(_ name: String) -> (any Sendable)? {
        name == StreamPropertyKey<Int64>.currentOffset.name ? offset.load(ordering: .relaxed) : nil
    }

    func setProperty(_ value: any Sendable, for name: String) -> Bool {
        guard name == StreamPropertyKey<Int64>.currentOffset.name, let value = value as? Int64, value >= range.lowerBound,
            value <= range.upperBound
        else { return false }
        offset.store(value, ordering: .relaxed)
        return true
    }

    func close() { _ = file.withLock { $0.take() } }
}

private final class FileSink: ByteSink {
    let waitsForDisk = true
    private let path: String
    private let position: ByteOutputStream.FilePosition
    private let state = Mutex<(file: Descriptor?, offset: Int64)>((nil, 0))

    init(path: String, at position: ByteOutputStream.FilePosition) { (self.path, self.position) = (path, position) }

    deinit { close() }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        do throws(LoadError) {
            let opened = try openFile()
            state.withLock { $0 = opened }
            completion(nil)
        } catch {
            completion(error)
        }
    }

    private func openFile() throws(LoadError) -> (Descriptor, Int64) {
        guard let local = LocalPath(path) else {
            throw LoadError(.badRequest, message: "the path of a stream is empty or has a NUL character in it")
        }
        if case .offset(let offset) = position, offset < 0 {
            throw LoadError(.badRequest, message: "a stream to '\(local)' can't begin at byte \(offset)")
        }
        do throws(SystemError) {
            let file = try FileSystem.openRegularForWriting(path, appends: position == .appending, replaces: position == .replacing)
            switch position {
            case .replacing: return (file, 0)
            case .appending: return (file, FileSystem.size(of: file) ?? 0)
            case .offset(let offset): return (file, offset)
            }
        } catch {
            throw .opening(local, error)
        }
    }

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        let (file, offset) = state.withLock { $0 }
        guard let file else { return .failed(.stream(.streamNotOpen, "the stream is closed")) }
        guard !bytes.isEmpty else { return .wrote(0) }
        do throws(SystemError) {
            let count = try writeWithoutSignals(bytes, to: file, at: position == .appending ? nil : offset)
            // Other programs may have appended, too.
            let end = position == .appending ? FileSystem.offset(of: file) : offset + Int64(count)
            state.withLock { $0.offset = end }
            return .wrote(count)
        } catch {
            return .failed(LocalPath(path).map { .writing($0, error) } ?? LoadError(.ioFailed, message: "\(error)"))
        }
    }

    func finish() -> LoadError? {
        guard let file = state.withLock({ $0.file.take() }) else { return nil }
        do throws(SystemError) {
            try file.close()
            return nil
        } catch {
            return LocalPath(path).map { .writing($0, error) }
        }
    }

    func close() { if let file = state.withLock({ $0.file.take() }) { try? file.close() } }  // `try?` because finish() reports it

    func property(_ name: String) -> (any Sendable)? {
        name == StreamPropertyKey<Int64>.currentOffset.name ? state.withLock { $0.offset } : nil
    }
}

/// Writes without SIGPIPE and SIGXFSZ, which would end the process.
func writeWithoutSignals(_ bytes: borrowing RawSpan, to file: Descriptor, at offset: Int64?) throws(SystemError) -> Int {
    var result = Result<Int, SystemError>.success(0)
    unsafe bytes.withUnsafeBytes { bytes in
        result = withWriteSignalsBlocked {
            Result { () throws(SystemError) in try file.write(unsafe RawSpan(_unsafeBytes: bytes), at: offset) }
        }
    }
    return try result.get()
}

extension LoadError {
    /// The error of stat(2) or open(2).
    fileprivate static func opening(_ path: LocalPath, _ error: SystemError) -> LoadError {
        switch error.code {
        case ENOENT, ENOTDIR: LoadError(.notFound, message: "file '\(path)' can't be created: its folder does not exist")
        case EACCES, EPERM, EROFS: LoadError(.accessDenied, message: "no permission to write file '\(path)': \(error)")
        case EISDIR: LoadError(.isDirectory, message: "'\(path)' is a directory; name a file in it")
        case ENXIO, SystemError.notRegularFile.code:
            LoadError(.notRegularFile, message: "'\(path)' is not a regular file; open it, and give its descriptor to the stream")
        case EMFILE, ENFILE: LoadError(.noResources, message: "file '\(path)' can't be opened: \(error)")
        default: writing(path, error)
        }
    }

    /// The error of write(2) or close(2).
    fileprivate static func writing(_ path: LocalPath, _ error: SystemError) -> LoadError {
        switch error.code {
        case ENOSPC, EDQUOT: LoadError(.ioFailed, message: "no space is left for file '\(path)': \(error); free some")
        default: LoadError(.ioFailed, message: "file '\(path)' can't be written: \(error) (errno \(error.code))")
        }
    }
}
