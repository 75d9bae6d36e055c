// SPDX-License-Identifier: Apache-2.0

/// The memory for the arguments and the result of a call. The calls of a load's steps share one frame.
@safe
final class CallFrame {
    static let capacity = 2 * Signature.parameterLimit

    /// The value of each argument, one word each.
    let cells: UnsafeMutablePointer<UInt64>
    /// The address of each argument, for libffi.
    let addresses: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    /// The values that the function stores through output parameters, by argument.
    let outputs: UnsafeMutablePointer<UInt64>
    let result: UnsafeMutablePointer<UInt64>
    /// The lengths of bytes and buffers in bytes, by argument.
    var lengths = [Int](repeating: 0, count: CallFrame.capacity)

    init() {
        unsafe cells = .allocate(capacity: Self.capacity)
        unsafe outputs = .allocate(capacity: Self.capacity)
        unsafe addresses = .allocate(capacity: Self.capacity)
        unsafe result = .allocate(capacity: 1)
        for index in 0..<Self.capacity { unsafe (addresses + index).initialize(to: UnsafeMutableRawPointer(cells + index)) }
    }

    deinit {
        unsafe cells.deallocate()
        unsafe outputs.deallocate()
        unsafe addresses.deallocate()
        unsafe result.deallocate()
    }

    /// Stores an address as argument `index`.
    func setPointer(_ index: Int, to address: UInt) {
        unsafe UnsafeMutableRawPointer(cells + index).storeBytes(of: address, as: UInt.self)
    }

    /// Makes argument `index` point to its word in ``outputs``, and sets the word to zero.
    func setOutput(_ index: Int) {
        unsafe outputs[index] = 0
        unsafe setPointer(index, to: UInt(bitPattern: outputs + index))
    }
}

extension ScalarType {
    /// Stores an integer or a Boolean that fits.
    ///
    /// - Parameter memory: The address of a word. On little-endian machines the whole word is set, and the bytes of
    ///   the type come first.
    func store(integer value: Int128, at memory: UnsafeMutableRawPointer) {
        #if _endian(little)
            return unsafe memory.storeBytes(of: UInt64(truncatingIfNeeded: value), as: UInt64.self)
        #else
            switch width {
            case 1: unsafe memory.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
            case 2: unsafe memory.storeBytes(of: UInt16(truncatingIfNeeded: value), as: UInt16.self)
            case 4: unsafe memory.storeBytes(of: UInt32(truncatingIfNeeded: value), as: UInt32.self)
            default: unsafe memory.storeBytes(of: UInt64(truncatingIfNeeded: value), as: UInt64.self)
            }
        #endif
    }

    func store(real value: Double, at memory: UnsafeMutableRawPointer) {
        if self == .float {
            unsafe memory.storeBytes(of: Float(value), as: Float.self)
        } else {
            unsafe memory.storeBytes(of: value, as: Double.self)
        }
    }

    /// Reads a value that C has stored in memory.
    func load(at memory: UnsafeRawPointer) -> Value {
        switch self {
        case .bool: .boolean(unsafe memory.load(as: UInt8.self) != 0)
        case .float: .real(Double(unsafe memory.load(as: Float.self)))
        case .double: .real(unsafe memory.load(as: Double.self))
        case .int8: .integer(Int128(unsafe memory.load(as: Int8.self)))
        case .uint8: .integer(Int128(unsafe memory.load(as: UInt8.self)))
        case .int16: .integer(Int128(unsafe memory.load(as: Int16.self)))
        case .uint16: .integer(Int128(unsafe memory.load(as: UInt16.self)))
        case .int32, .int: .integer(Int128(unsafe memory.load(as: Int32.self)))
        case .uint32, .uint: .integer(Int128(unsafe memory.load(as: UInt32.self)))
        case .int64: .integer(Int128(unsafe memory.load(as: Int64.self)))
        case .uint64: .integer(Int128(unsafe memory.load(as: UInt64.self)))
        case .size, .ulong: .integer(Int128(unsafe memory.load(as: UInt.self)))
        case .ssize, .long: .integer(Int128(unsafe memory.load(as: Int.self)))
        }
    }

    /// Reads the result of a call. An integer is in the low bits of the word.
    func loadResult(at memory: UnsafePointer<UInt64>) -> Value {
        guard isInteger || self == .bool else { return unsafe load(at: UnsafeRawPointer(memory)) }
        let word = unsafe memory.pointee
        if self == .bool { return .boolean(UInt8(truncatingIfNeeded: word) != 0) }
        let unusedBits = UInt64(64 - width * 8)
        return .integer(
            isSigned ? Int128(Int64(bitPattern: word << unusedBits) >> Int64(unusedBits)) : Int128((word << unusedBits) >> unusedBits))
    }
}
