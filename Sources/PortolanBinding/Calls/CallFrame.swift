// SPDX-License-Identifier: Apache-2.0

/// The memory for the arguments of one call; reused by the next call.
@safe
final class CallFrame {
    static let capacity = 2 * Signature.parameterLimit

    /// The value of each argument.
    let cells: UnsafeMutablePointer<UInt64>
    /// The address of each argument, for libffi.
    let places: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    /// The output values of functions, by argument.
    let outputs: UnsafeMutablePointer<UInt64>
    let result: UnsafeMutablePointer<UInt64>
    /// The lengths of bytes and buffers, by argument.
    var lengths = [Int](repeating: 0, count: CallFrame.capacity)

    init() {
        unsafe cells = .allocate(capacity: Self.capacity)
        unsafe outputs = .allocate(capacity: Self.capacity)
        unsafe places = .allocate(capacity: Self.capacity)
        unsafe result = .allocate(capacity: 1)
        for index in 0..<Self.capacity { unsafe (places + index).initialize(to: UnsafeMutableRawPointer(cells + index)) }
    }

    deinit {
        unsafe cells.deallocate()
        unsafe outputs.deallocate()
        unsafe places.deallocate()
        unsafe result.deallocate()
    }

    /// Stores an address as argument `index`.
    func set(_ index: Int, _ address: UInt) {
        unsafe UnsafeMutableRawPointer(cells + index).storeBytes(of: address, as: UInt.self)
    }

    /// Makes argument `index` point to its own output word, which is set to zero.
    func setOutput(_ index: Int) {
        unsafe outputs[index] = 0
        unsafe set(index, UInt(bitPattern: outputs + index))
    }
}

extension ScalarType {
    /// Stores an integer or a Boolean that fits.
    ///
    /// - Parameter place: The address of a whole word, all of which is set. In little-endian order the type's own bytes
    ///   come first.
    func store(integer value: Int128, _ place: UnsafeMutableRawPointer) {
        #if _endian(little)
            return unsafe place.storeBytes(of: UInt64(truncatingIfNeeded: value), as: UInt64.self)
        #else
            switch width {
            case 1: unsafe place.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
            case 2: unsafe place.storeBytes(of: UInt16(truncatingIfNeeded: value), as: UInt16.self)
            case 4: unsafe place.storeBytes(of: UInt32(truncatingIfNeeded: value), as: UInt32.self)
            default: unsafe place.storeBytes(of: UInt64(truncatingIfNeeded: value), as: UInt64.self)
            }
        #endif
    }

    func store(real value: Double, _ place: UnsafeMutableRawPointer) {
        if self == .float {
            unsafe place.storeBytes(of: Float(value), as: Float.self)
        } else {
            unsafe place.storeBytes(of: value, as: Double.self)
        }
    }

    /// Reads a value that C has stored in memory.
    func load(_ place: UnsafeRawPointer) -> Value {
        switch self {
        case .bool: .boolean(unsafe place.load(as: UInt8.self) != 0)
        case .float: .real(Double(unsafe place.load(as: Float.self)))
        case .double: .real(unsafe place.load(as: Double.self))
        case .int8: .integer(Int128(unsafe place.load(as: Int8.self)))
        case .uint8: .integer(Int128(unsafe place.load(as: UInt8.self)))
        case .int16: .integer(Int128(unsafe place.load(as: Int16.self)))
        case .uint16: .integer(Int128(unsafe place.load(as: UInt16.self)))
        case .int32, .int: .integer(Int128(unsafe place.load(as: Int32.self)))
        case .uint32, .uint: .integer(Int128(unsafe place.load(as: UInt32.self)))
        case .int64: .integer(Int128(unsafe place.load(as: Int64.self)))
        case .uint64: .integer(Int128(unsafe place.load(as: UInt64.self)))
        case .size, .ulong: .integer(Int128(unsafe place.load(as: UInt.self)))
        case .ssize, .long: .integer(Int128(unsafe place.load(as: Int.self)))
        }
    }

    /// Reads a result that libffi has stored. Integers are widened to a word.
    func loadResult(_ place: UnsafePointer<UInt64>) -> Value {
        guard isInteger || self == .bool else { return unsafe load(UnsafeRawPointer(place)) }
        let word = unsafe place.pointee
        if self == .bool { return .boolean(UInt8(truncatingIfNeeded: word) != 0) }
        let bits = UInt64(64 - width * 8)
        return .integer(isSigned ? Int128(Int64(bitPattern: word << bits) >> Int64(bits)) : Int128((word << bits) >> bits))
    }
}
