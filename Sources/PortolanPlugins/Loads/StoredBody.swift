// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The body of the stored response that `make` received. It can be read from any offset, in a call into the load.
final class StoredBody {
    private let body: Body?
    private var reader: (any BodyReader)?
    private var position: Int64 = 0

    init(_ body: Body?) {
        self.body = body
    }

    /// Reads into `buffer` from `offset`. Waits until bytes are available, which takes little time for a stored body.
    ///
    /// - Returns: the number of bytes. 0 at or after the end, and for a negative offset.
    /// - Throws: ``LoadError/Code/ioFailed`` if the body cannot be read.
    func read(from offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(LoadError) -> Int {
        guard let body, offset >= 0 else { return 0 }
        if offset < position { close() }
        let reader = try openReader(of: body)
        while position < offset {
            // Skips the bytes before the offset by reading them into the same buffer.
            let skippedCount = min(Int(clamping: offset - position), buffer.count)
            let count = try unsafe Self.read(reader, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<skippedCount]))
            guard count > 0 else { return 0 }
            position += Int64(count)
        }
        let count = unsafe try Self.read(reader, into: buffer)
        position += Int64(count)
        return count
    }

    private func openReader(of body: Body) throws(LoadError) -> any BodyReader {
        if let reader { return reader }
        do throws(LoadError) {
            let reader = try body.makeReader()
            self.reader = reader
            return reader
        } catch {
            throw Self.unreadable(error)
        }
    }

    private static func unreadable(_ cause: LoadError) -> LoadError {
        LoadError(.ioFailed, message: "the stored response could not be read", underlyingError: cause)
    }

    private static func read(_ reader: any BodyReader, into buffer: UnsafeMutableRawBufferPointer) throws(LoadError) -> Int {
        let isReady = ConditionLock(false)
        while true {
            var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            let read = reader.read(into: &output) { isReady.withLockBroadcasting { $0 = true } }
            let count = output.byteCount
            switch read {
            case .bytes: return count
            case .end: return 0
            case .failed(let error): throw unreadable(error)
            case .wait: isReady.wait { $0.resetIfSet() }
            }
        }
    }

    func close() {
        reader?.close()
        reader = nil
        position = 0
    }
}

extension Bool {
    /// Resets the flag if it is set. Returns `nil` if the flag is not set.
    fileprivate mutating func resetIfSet() -> Void? {
        guard self else { return nil }
        self = false
        return ()
    }
}
