// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// A struct of the contract that can grow, and therefore contains its size.
///
/// So far only version 1 exists, so the Swift struct has version 1's size. When members are appended,
/// ``sizeOfVersion1`` keeps its value, and ``read(_:)`` copies the smaller of the two sides' sizes.
protocol SizedStruct {
    init()
    var size: UInt32 { get }
    /// The name in the headers.
    static var structName: String { get }
    static var sizeOfVersion1: Int { get }
}

extension SizedStruct {
    static var sizeOfVersion1: Int { MemoryLayout<Self>.size }

    /// Reads the struct at `pointer`, but nothing past its `size`. Members beyond `size` are zero.
    ///
    /// - Throws: DESC-05 if `pointer` is NULL, or if the struct is shorter than version 1.
    static func read(_ pointer: UnsafePointer<Self>?) throws(ContractViolation) -> Self {
        guard let pointer = unsafe pointer else {
            throw ContractViolation(.structsAreWhole, "NULL was given instead of a \(structName)")
        }
        // `size` is the first member of every struct. It is read alone, because the rest may be missing.
        let size = unsafe Int(UnsafeRawPointer(pointer).loadUnaligned(as: UInt32.self))
        guard size >= sizeOfVersion1 else {
            throw ContractViolation(
                .structsAreWhole, "the size of a \(structName) is \(size), less than version 1's \(sizeOfVersion1); set it with sizeof")
        }
        var value = Self()
        unsafe withUnsafeMutableBytes(of: &value) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: min(size, target.count)))
        }
        return value
    }
}

extension portolan_plugin: @unsafe SizedStruct { static let structName = "portolan_plugin" }
extension portolan_handler: @unsafe SizedStruct { static let structName = "portolan_handler" }
extension portolan_load_table: @unsafe SizedStruct { static let structName = "portolan_load_table" }
extension portolan_response: @unsafe SizedStruct { static let structName = "portolan_response" }
extension portolan_change: @unsafe SizedStruct { static let structName = "portolan_change" }
extension portolan_error: @unsafe SizedStruct { static let structName = "portolan_error" }
extension portolan_challenge: @unsafe SizedStruct { static let structName = "portolan_challenge" }

extension UnsafeBufferPointer {
    /// No list of the contract is longer. A larger count was never initialised.
    private static var largestCount: Int { 1 << 16 }

    /// The `count` elements at `start`, from a plugin.
    ///
    /// - Throws: DESC-05 if the count is out of range, or if there is a count but no list.
    init(start: UnsafePointer<Element>?, counted count: Int, _ what: String) throws(ContractViolation) {
        guard unsafe (0...Self.largestCount).contains(count) else {
            throw ContractViolation(.structsAreWhole, "the count of \(what) is \(UInt(bitPattern: count)), which is too large")
        }
        guard unsafe count == 0 || start != nil else {
            throw ContractViolation(.structsAreWhole, "the count of \(what) is \(count), but their list is NULL")
        }
        unsafe self.init(start: start, count: count)
    }

    func each(_ body: (Element) throws(ContractViolation) -> Void) throws(ContractViolation) {
        for index in 0..<count { try unsafe body(self[index]) }
    }
}

// The headers mark pointers as never NULL, and Swift relies on it. A plugin may pass NULL anyway. The address as an
// integer reveals it.

extension UnsafePointer {
    package var orNil: Self? { unsafe Self(bitPattern: UInt(bitPattern: self)) }
}

extension UnsafeMutablePointer {
    package var orNil: Self? { unsafe Self(bitPattern: UInt(bitPattern: self)) }
}

extension UnsafeMutableRawPointer {
    package var orNil: Self? { unsafe Self(bitPattern: UInt(bitPattern: self)) }
}
