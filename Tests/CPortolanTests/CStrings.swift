// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Testing

/// Passes `bytes` to `body` as a `portolan_string` that is valid during the call. `nil` gives an absent string.
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

/// What a C function that fills a buffer returned, and the bytes that it wrote before the first NUL.
struct FillResult: Equatable {
    var result: Int64
    var writtenBytes: [UInt8]
}

/// Passes `body` a buffer of `capacity` bytes filled with 0xAA, and checks that `body` wrote nothing behind the buffer.
/// The 16 bytes behind the buffer detect such writes, because AddressSanitizer does not instrument C functions that
/// Swift inlines.
func fill(capacity: Int, _ body: (UnsafeMutablePointer<CChar>?, Int) -> Int64) -> FillResult {
    let canary = CChar(bitPattern: 0xAA)
    let total = capacity + 16
    let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: total)
    defer { unsafe buffer.deallocate() }
    unsafe buffer.initialize(repeating: canary, count: total)
    let result = unsafe body(buffer, capacity)
    for index in capacity..<total { unsafe #expect(buffer[index] == canary, "byte \(index) of \(capacity) was written") }
    var writtenBytes: [UInt8] = []
    for index in 0..<capacity {
        let byte = unsafe UInt8(bitPattern: buffer[index])
        if byte == 0 { break }
        writtenBytes.append(byte)
    }
    return FillResult(result: result, writtenBytes: writtenBytes)
}
