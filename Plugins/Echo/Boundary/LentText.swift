// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension portolan_string {
    /// The text; `nil` where it is absent, which is not the same as empty.
    var text: String? {
        guard let bytes = unsafe bytes else { return nil }
        let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: length)
        return unsafe String(decoding: buffer, as: UTF8.self)
    }

    var array: [UInt8] {
        guard let bytes = unsafe bytes else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: length))
    }

    /// A constant, which lives as long as the library.
    init(_ constant: StaticString) {
        let start = unsafe UnsafeRawPointer(constant.utf8Start).assumingMemoryBound(to: CChar.self)
        unsafe self.init(bytes: start, length: constant.utf8CodeUnitCount)
    }

    /// Calls `body` with the bytes, where they lie.
    func withBytes<Result>(_ body: (borrowing RawSpan) -> Result) -> Result {
        let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length)
        return unsafe body(buffer.bytes)
    }
}

extension UnsafePointer {
    /// What `body` makes of each of the `count` values that begin here, in their order.
    func map<Result>(count: Int, _ body: (Pointee) -> Result) -> [Result] {
        (0..<count).map { unsafe body(self[$0]) }
    }
}
