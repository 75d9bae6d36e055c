// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Body {
    /// A body that is read from a file while it is sent.
    ///
    /// The length of the body is the length of the file at this call. Bytes that are appended later are not sent. A
    /// file that has become shorter fails the load. The file is opened again for each reader, and stays open only as
    /// long as a reader needs it.
    ///
    /// - Throws: ``LoadError/Code/notFound``, ``LoadError/Code/accessDenied``, ``LoadError/Code/isDirectory`` or
    ///   another code that states why the file can't be read.
    public static func file(path text: String) throws(LoadError) -> Body {
        guard let path = LocalPath(text) else {
            throw LoadError(
                .badRequest, message: "the path of a body's file is empty or has a NUL character in it; give the path of a regular file")
        }
        let length = try RegularFile(at: path).size
        return Body(length: length, isRewindable: true) { () throws(LoadError) in
            do throws(LoadError) {
                return FileBodyReader(try RegularFile(at: path), length: length)
            } catch {
                throw LoadError(.bodyFailed, message: "the body's file can't be opened", underlyingError: error)
            }
        }
    }
}

/// Reads without waiting: a regular file always has a next byte or an end.
private final class FileBodyReader: FileBackedReader {
    private struct Place: ~Copyable {
        let file: RegularFile
        var offset: Int64 = 0
    }

    private let length: Int64?
    /// `nil` after the end, during a read, and when the reader is closed.
    private let place: Mutex<Place?>
    private let isClosed = Atomic(false)
    /// What every read returns after a failed one.
    private let failure = Mutex<LoadError?>(nil)

    init(_ file: consuming RegularFile, length: Int64?) {
        self.length = length
        place = Mutex(Place(file: file))
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        guard var place = self.place.withLock({ $0.take() }) else { return end }
        let owed = length.map { $0 - place.offset }
        guard owed != 0 else { return .end }
        do throws(LoadError) {
            let count = try place.file.read(into: &buffer, atMost: owed.map(Int.init(clamping:)) ?? .max, from: place.offset)
            if count == 0, let owed { return fail(shrunk(place.file.path, by: owed)) }
            guard count > 0 else { return .end }
            place.offset += Int64(count)
        } catch {
            return fail(LoadError(.bodyFailed, message: "the body's file can't be read", underlyingError: error))
        }
        putBack(place)
        return .bytes
    }

    func send(_ send: (CInt, Int64, Int) -> FileTransfer) -> FileTransfer {
        guard var place = self.place.withLock({ $0.take() }) else { return .unable }
        let owed = length.map { $0 - place.offset } ?? .max
        let transfer = owed > 0 ? place.file.send(Int(clamping: owed), from: place.offset, send) : .unable
        if case .took(let count) = transfer { place.offset += Int64(count) }
        putBack(place)
        return transfer
    }

    private var end: BodyRead { failure.withLock { $0 }.map { .failed($0) } ?? .end }

    private func fail(_ error: LoadError) -> BodyRead {
        failure.withLock { $0 = error }
        return .failed(error)
    }

    private func putBack(_ place: consuming Place) {
        var moved = Optional(place)
        self.place.withLock { $0 = moved.take() }
        if isClosed.load(ordering: .sequentiallyConsistent) { close() }
    }

    func close() {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        _ = place.withLock { $0.take() }
    }

    private func shrunk(_ path: LocalPath, by missing: Int64) -> LoadError {
        let length = length ?? 0
        return LoadError(
            .bodyFailed,
            message:
                "file '\(path)' became shorter while it was sent: \(length - missing) of \(length) bytes were there; send it again when complete"
        )
    }
}
