// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension portolan_string {
    /// The text. `nil` if the string is absent, which differs from empty.
    var text: String? {
        guard let bytes = unsafe bytes else { return nil }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
    }

    /// The bytes. Empty if the string is absent.
    var buffer: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length) }

    /// The text in ISO-8859-1: one character for each byte.
    var latin1: String {
        let bytes = unsafe buffer
        guard unsafe bytes.contains(where: { $0 > 127 }) else { return unsafe String(decoding: bytes, as: UTF8.self) }
        var text = String.UnicodeScalarView()
        for index in bytes.indices { unsafe text.append(Unicode.Scalar(bytes[index])) }
        return String(text)
    }
}

extension UnsafePointer {
    /// Returns the results of `body` for the `count` values that start here, in order.
    func map<Result>(count: Int, _ body: (Pointee) -> Result) -> [Result] {
        (0..<count).map { unsafe body(self[$0]) }
    }
}

extension [(name: String, value: PluginPropertyValue)] {
    init(_ start: UnsafePointer<portolan_property>?, count: Int) {
        self =
            unsafe start?.map(count: count) { cValue in
                let value: PluginPropertyValue =
                    switch unsafe cValue.kind {
                    case PORTOLAN_KIND_TEXT: unsafe .text(cValue.bytes.text ?? "")
                    case PORTOLAN_KIND_BYTES: unsafe .bytes([UInt8](cValue.bytes.buffer))
                    case PORTOLAN_KIND_INTEGER: unsafe .integer(cValue.integer)
                    case PORTOLAN_KIND_REAL: unsafe .real(cValue.real)
                    case PORTOLAN_KIND_TRUTH: unsafe .boolean(cValue.integer != 0)
                    default: .other
                    }
                return unsafe (cValue.name.text ?? "", value)
            } ?? []
    }
}
