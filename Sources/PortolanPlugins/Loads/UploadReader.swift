// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The upload body of one load for `read_body` and `rewind_body`. In call.
final class UploadReader {
    enum Read {
        case bytes(Int)
        case end
        case failed(LoadError)
    }

    /// The state of a request for a new body.
    private enum Renewal {
        case none
        case asked
        case came(Body?)
    }

    private var body: Body?
    private var reader: (any BodyReader)?
    private var taken: Int64 = 0
    /// The last total that the load reported as sent.
    private(set) var sent: Int64 = 0
    /// Whether a nested load has taken over the body.
    private var isHandedOver = false
    private let renewal = Mutex(Renewal.none)

    init(_ body: Body?) {
        self.body = body
    }

    var length: Int64? { body?.length }

    /// Reads the available bytes into `buffer`.
    ///
    /// - Parameter whenReady: called after the result `nil`, when another read makes sense.
    func read(into buffer: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void) -> Read? {
        guard let body, !isHandedOver else { return .end }
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
            taken += Int64(count)
            if let length = body.length, taken > length {
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
        guard let length = body.length, taken < length else { return .end }
        return .failed(
            LoadError(.bodyFailed, message: "the upload body ended after \(taken) of its declared \(length) bytes"))
    }

    private static func failure(_ cause: LoadError) -> LoadError {
        LoadError(.bodyFailed, message: "the upload body could not be read", underlyingError: cause)
    }

    /// Records the total number of sent bytes.
    ///
    /// - Returns: the number of bytes sent since the last call.
    /// - Throws: ORDER-09.
    func noteSent(_ total: Int64) throws(ContractViolation) -> Int64 {
        guard total >= sent, total <= length ?? .max else {
            throw ContractViolation(
                .sentTotalsRise,
                "\(total) sent bytes were reported after \(sent); the length of the body is \(length.map(String.init) ?? "unknown")")
        }
        defer { sent = total }
        return total - sent
    }

    /// Rewinds the body to its start.
    ///
    /// - Parameters:
    ///   - ask: requests a new body from the client. Called if this body cannot be read twice.
    ///   - whenReady: called after the result `nil`, when another call makes sense.
    /// - Returns: whether there is a body at its start.
    func rewind(
        asking ask: (@escaping @Sendable (Body?) -> Void) -> Void, whenReady: @escaping @Sendable () -> Void
    ) -> Bool? {
        guard let body, !isHandedOver else { return false }
        if body.isRewindable {
            restart(with: body)
            return true
        }
        if renewal.withLock({
            if case .none = $0 {
                $0 = .asked
                return true
            } else {
                return false
            }
        }) {
            // Captures the slot and not this object, which only the load's serial calls may use.
            ask { [slot = RenewalSlot(self)] body in
                slot.take(body)
                whenReady()
            }
        }
        let new: Body?? = renewal.withLock { renewal in
            guard case .came(let body) = renewal else { return nil }
            renewal = .none
            return .some(body)
        }
        guard let new else { return nil }
        guard let new else { return false }
        restart(with: new)
        return true
    }

    private struct RenewalSlot: @unchecked Sendable {  // … because only the upload's mutex is touched
        private let upload: UploadReader
        init(_ upload: UploadReader) { self.upload = upload }
        func take(_ body: Body?) { upload.renewal.withLock { $0 = .came(body) } }
    }

    private func restart(with body: Body) {
        reader?.close()
        reader = nil
        self.body = body
        taken = 0
        sent = 0
    }

    /// Hands the body over to a nested load. This load then sees its end.
    func handOver() {
        isHandedOver = true
        close()
    }

    func close() {
        reader?.close()
        reader = nil
    }
}
