// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The upload body of one load, for `read_body` and `rewind_body`. Used only in a call into the load.
final class UploadReader {
    /// The result of a read.
    enum Read {
        case bytes(Int)
        case end
        case failed(LoadError)
    }

    /// The state of a request for a new body.
    private enum Renewal {
        case none
        case requested
        case received(Body?)
    }

    private var body: Body?
    private var reader: (any BodyReader)?
    private var readLength: Int64 = 0
    /// The last total that the load reported as sent.
    private(set) var sentLength: Int64 = 0
    /// Whether a nested load has taken over the body.
    private var isTransferred = false
    private let renewal = Mutex(Renewal.none)

    init(_ body: Body?) {
        self.body = body
    }

    var length: Int64? { body?.length }

    /// Reads the available bytes into `buffer`.
    ///
    /// - Parameter whenReady: called after the result `nil`, when more bytes can be available.
    /// - Returns: `nil` if no bytes are available yet.
    func read(into buffer: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void) -> Read? {
        guard let body, !isTransferred else { return .end }
        let reader: any BodyReader
        do throws(LoadError) {
            reader = try openReader(of: body)
        } catch {
            return .failed(Self.failure(error))
        }
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        let read = reader.read(into: &output, whenReady: whenReady)
        let count = output.byteCount
        switch read {
        case .wait: return nil
        case .failed(let error): return .failed(Self.failure(error))
        case .end: return checkEnd(of: body)
        case .bytes:
            readLength += Int64(count)
            if let length = body.length, readLength > length {
                return .failed(LoadError(.bodyFailed, message: "the upload body is longer than its declared length of \(length) bytes"))
            }
            return .bytes(count)
        }
    }

    private func openReader(of body: Body) throws(LoadError) -> any BodyReader {
        if let reader { return reader }
        let reader = try body.makeReader()
        self.reader = reader
        return reader
    }

    private func checkEnd(of body: Body) -> Read {
        guard let length = body.length, readLength < length else { return .end }
        return .failed(
            LoadError(.bodyFailed, message: "the upload body ended after \(readLength) of its declared \(length) bytes"))
    }

    private static func failure(_ cause: LoadError) -> LoadError {
        LoadError(.bodyFailed, message: "the upload body could not be read", underlyingError: cause)
    }

    /// Records the total number of sent bytes.
    ///
    /// - Returns: the number of bytes sent since the last call.
    /// - Throws: ORDER-09.
    func recordSent(_ total: Int64) throws(ContractViolation) -> Int64 {
        guard total >= sentLength, total <= length ?? .max else {
            throw ContractViolation(
                .sentTotalsRise,
                "\(total) sent bytes were reported after \(sentLength); the length of the body is \(length.map(String.init) ?? "unknown")")
        }
        defer { sentLength = total }
        return total - sentLength
    }

    /// Rewinds the body to its start.
    ///
    /// - Parameters:
    ///   - requestNewBody: requests a new body from the client. Called if this body cannot be read twice.
    ///   - whenReady: called after the result `nil`, when the new body has arrived.
    /// - Returns: whether the body is at its start; `false` if the body is not available again; `nil` to try again
    ///   after `whenReady`.
    func rewind(
        requestNewBody: (@escaping @Sendable (Body?) -> Void) -> Void, whenReady: @escaping @Sendable () -> Void
    ) -> Bool? {
        guard let body, !isTransferred else { return false }
        if body.isRewindable {
            restart(with: body)
            return true
        }
        if renewal.withLock({
            if case .none = $0 {
                $0 = .requested
                return true
            } else {
                return false
            }
        }) {
            // The closure captures only the slot, because this object can be used only in calls into the load.
            requestNewBody { [slot = RenewalSlot(self)] body in
                slot.store(body)
                whenReady()
            }
        }
        let newBody: Body?? = renewal.withLock { renewal in
            guard case .received(let body) = renewal else { return nil }
            renewal = .none
            return .some(body)
        }
        guard let newBody else { return nil }
        guard let newBody else { return false }
        restart(with: newBody)
        return true
    }

    private struct RenewalSlot: @unchecked Sendable {  // … because it uses only the mutex of the upload
        private let upload: UploadReader
        init(_ upload: UploadReader) { self.upload = upload }
        func store(_ body: Body?) { upload.renewal.withLock { $0 = .received(body) } }
    }

    private func restart(with body: Body) {
        reader?.close()
        reader = nil
        self.body = body
        readLength = 0
        sentLength = 0
    }

    /// Closes the body, because a nested load reads it. Reads of this load then return the end.
    func transferToNestedLoad() {
        isTransferred = true
        close()
    }

    func close() {
        reader?.close()
        reader = nil
    }
}
