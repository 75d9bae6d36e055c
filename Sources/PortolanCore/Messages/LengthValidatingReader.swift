// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A reader that fails if a body has more or fewer bytes than its declared length. The declared length has already been
/// sent to the peer.
final class LengthValidatingReader: BodyReader {
    private let reader: any BodyReader
    private let length: Int64
    private let total = Atomic<Int64>(0)

    init(_ reader: any BodyReader, length: Int64) {
        self.reader = reader
        self.length = length
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let before = buffer.byteCount
        let result = reader.read(into: &buffer, whenReady: whenReady)
        let total = total.add(Int64(buffer.byteCount - before), ordering: .relaxed).newValue
        // UPLOAD-09
        switch result {
        case .bytes where total > length:
            return .failed(LoadError(.bodyFailed, message: "the body is longer than its declared length of \(length) bytes"))
        case .end where total < length:
            return .failed(
                LoadError(.bodyFailed, message: "the body ended after \(total) of its \(length) declared bytes"))
        case .bytes, .end, .wait, .failed: return result
        }
    }

    func close() { reader.close() }
}
