// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Testing

/// Lends `bytes` as a `portolan_string` for the length of a call; nil is an absent one.
func withString<Result>(_ bytes: [UInt8]?, _ body: (portolan_string) -> Result) -> Result {
    guard let bytes else { return unsafe body(portolan_string(bytes: nil, length: 0)) }
    let memory = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    defer { unsafe memory.deallocate() }
    for (index, byte) in bytes.enumerated() { unsafe memory[index] = CChar(bitPattern: byte) }
    return unsafe body(portolan_string(bytes: UnsafePointer(memory), length: bytes.count))
}

func withString<Result>(_ text: String, _ body: (portolan_string) -> Result) -> Result {
    unsafe withString(Array(text.utf8), body)
}

/// What a helper that fills a buffer did: its result, and what stands in the buffer before the first NUL.
struct Filled: Equatable {
    var result: Int64
    var written: [UInt8]
}

/// Gives `body` a buffer of `capacity` bytes, filled with 0xAA, and sees that nothing behind it was touched.
/// The bytes behind it do that work: AddressSanitizer does not look into the C functions that Swift inlines.
func fill(capacity: Int, _ body: (UnsafeMutablePointer<CChar>?, Int) -> Int64) -> Filled {
    let canary = CChar(bitPattern: 0xAA)
    let total = capacity + 16
    let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: total)
    defer { unsafe buffer.deallocate() }
    unsafe buffer.initialize(repeating: canary, count: total)
    let result = unsafe body(buffer, capacity)
    for index in capacity..<total { unsafe #expect(buffer[index] == canary, "byte \(index) of \(capacity) was written") }
    var written: [UInt8] = []
    for index in 0..<capacity {
        let byte = unsafe UInt8(bitPattern: buffer[index])
        if byte == 0 { break }
        written.append(byte)
    }
    return Filled(result: result, written: written)
}
