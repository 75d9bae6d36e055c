// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// A struct of the contract that contains its size, because later versions can append members.
///
/// Now only version 1 exists, so ``sizeOfVersion1`` is the size of the Swift struct. When members are appended,
/// ``sizeOfVersion1`` keeps its value, and ``read(_:)`` copies the smaller of the sizes in the plugin and in the host.
protocol SizedStruct {
    init()
    var size: UInt32 { get }
    /// The name in the headers.
    static var structName: String { get }
    static var sizeOfVersion1: Int { get }
}

extension SizedStruct {
    static var sizeOfVersion1: Int { MemoryLayout<Self>.size }

    /// Reads `size` bytes of the struct at `pointer`. Members beyond `size` are zero.
    ///
    /// - Throws: DESC-05 if `pointer` is NULL, or if the struct is shorter than version 1.
    static func read(_ pointer: UnsafePointer<Self>?) throws(ContractViolation) -> Self {
        guard let pointer = unsafe pointer else {
            throw ContractViolation(.structsAreWhole, "NULL was passed instead of a \(structName)")
        }
        // `size` is the first member of every struct. It is read first, because the other members can be missing.
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
    /// The maximum length of a list. A larger count is probably an uninitialised variable.
    private static var countLimit: Int { 1 << 16 }

    /// The `count` elements of a plugin's list at `start`.
    ///
    /// - Throws: DESC-05 if the count is out of range, or if there is a count but no list.
    init(start: UnsafePointer<Element>?, counted count: Int, _ subject: String) throws(ContractViolation) {
        guard unsafe (0...Self.countLimit).contains(count) else {
            throw ContractViolation(.structsAreWhole, "the count of \(subject) is \(UInt(bitPattern: count)), which is too large")
        }
        guard unsafe count == 0 || start != nil else {
            throw ContractViolation(.structsAreWhole, "the count of \(subject) is \(count), but their list is NULL")
        }
        unsafe self.init(start: start, count: count)
    }

    func forEachElement(_ operation: (Element) throws(ContractViolation) -> Void) throws(ContractViolation) {
        for index in 0..<count { try unsafe operation(self[index]) }
    }
}

// The headers mark most pointers as non-null, so their Swift types are not optional. A plugin can still pass NULL.
// `orNil` returns `nil` for NULL.

extension UnsafePointer {
    package var orNil: Self? { unsafe Self(bitPattern: UInt(bitPattern: self)) }
}

extension UnsafeMutablePointer {
    package var orNil: Self? { unsafe Self(bitPattern: UInt(bitPattern: self)) }
}

extension UnsafeMutableRawPointer {
    package var orNil: Self? { unsafe Self(bitPattern: UInt(bitPattern: self)) }
}
