// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Body {
    /// A body that is read from a file while it is sent.
    ///
    /// The length of the body is the length of the file at the time of this call. Bytes that are appended later are not
    /// sent. If the file becomes shorter, the load fails. Each reader opens the file and closes it at the end.
    ///
    /// - Parameters:
    ///   - text: the path of a regular file.
    ///   - offset: the number of bytes at the beginning of the file that are not part of the body.
    /// - Throws: ``LoadError/Code/notFound``, ``LoadError/Code/accessDenied``, ``LoadError/Code/isDirectory`` or
    ///   another code that states why the file can't be read; ``LoadError/Code/badRequest`` if the offset is not in the
    ///   file.
    public static func file(path text: String, from offset: Int64 = 0) throws(LoadError) -> Body {
        guard let path = LocalPath(text) else {
            throw LoadError(
                .badRequest, message: "the path of a body's file is empty or has a NUL character in it; give the path of a regular file")
        }
        let size = try RegularFile(at: path).size
        guard offset >= 0, offset <= size ?? offset else {
            throw LoadError(.badRequest, message: "the body can't begin at byte \(offset) of '\(path)': it has \(size ?? 0) bytes")
        }
        return Body(length: size.map { $0 - offset }, isRewindable: true) { () throws(LoadError) in
            do throws(LoadError) {
                return FileBodyReader(try RegularFile(at: path), from: offset, to: size)
            } catch {
                throw LoadError(.bodyFailed, message: "the body's file can't be opened", underlyingError: error)
            }
        }
    }
}

/// Reads a body from a regular file. It never has to wait.
private final class FileBodyReader: FileBackedReader {
    private struct OpenFile: ~Copyable {
        let file: RegularFile
        var offset: Int64
    }

    /// The size of the file; `nil` if it has none.
    private let size: Int64?
    /// `nil` during a read, after the end, and after `close()`.
    private let openFile: Mutex<OpenFile?>
    private let isClosed = Atomic(false)
    /// The error of the first failed read. Later reads return it, too.
    private let failure = Mutex<LoadError?>(nil)

    init(_ file: consuming RegularFile, from offset: Int64, to size: Int64?) {
        self.size = size
        openFile = Mutex(OpenFile(file: file, offset: offset))
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        guard var openFile = self.openFile.withLock({ $0.take() }) else { return endOrFailure }
        let remaining = size.map { $0 - openFile.offset }
        guard remaining != 0 else { return .end }
        do throws(LoadError) {
            let count = try openFile.file.read(into: &buffer, atMost: remaining.map(Int.init(clamping:)) ?? .max, from: openFile.offset)
            if count == 0, let remaining { return fail(shrunkFileError(openFile.file.path, by: remaining)) }
            guard count > 0 else { return .end }
            openFile.offset += Int64(count)
        } catch {
            return fail(LoadError(.bodyFailed, message: "the body's file can't be read", underlyingError: error))
        }
        putBackFile(openFile)
        return .bytes
    }

    func send(_ send: (CInt, Int64, Int) -> FileSendResult) -> FileSendResult {
        guard var openFile = self.openFile.withLock({ $0.take() }) else { return .unable }
        let remaining = size.map { $0 - openFile.offset } ?? .max
        let transfer = remaining > 0 ? openFile.file.send(Int(clamping: remaining), from: openFile.offset, send) : .unable
        if case .sent(let count) = transfer { openFile.offset += Int64(count) }
        putBackFile(openFile)
        return transfer
    }

    func skip(_ count: Int64) {
        guard var openFile = self.openFile.withLock({ $0.take() }) else { return }
        openFile.offset += count
        putBackFile(openFile)
    }

    private var endOrFailure: BodyRead { failure.withLock { $0 }.map { .failed($0) } ?? .end }

    private func fail(_ error: LoadError) -> BodyRead {
        failure.withLock { $0 = error }
        return .failed(error)
    }

    private func putBackFile(_ openFile: consuming OpenFile) {
        var moved = Optional(openFile)
        self.openFile.withLock { $0 = moved.take() }
        if isClosed.load(ordering: .sequentiallyConsistent) { close() }
    }

    func close() {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        _ = openFile.withLock { $0.take() }
    }

    private func shrunkFileError(_ path: LocalPath, by missingBytes: Int64) -> LoadError {
        let size = size ?? 0
        return LoadError(
            .bodyFailed,
            message:
                "file '\(path)' became shorter while it was sent: \(size - missingBytes) of \(size) bytes were there; send it again when complete"
        )
    }
}
