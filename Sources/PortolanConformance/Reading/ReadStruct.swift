// SPDX-License-Identifier: Apache-2.0

import CPluginObservation

/// A structure that begins with its size, as a plugin gave it.
enum ReadStruct<Value> {
    /// The pointer is NULL.
    case missing
    /// The member `size` is smaller than in version 1.
    case short(UInt32)
    case unreadable
    case whole(Value)
    /// The member `size`, which is larger than this version's structure, and what this version knows of it.
    case large(UInt32, Value)

    var value: Value? {
        switch self {
        case .whole(let value), .large(_, let value): value
        case .missing, .short, .unreadable: nil
        }
    }
}

extension ReadStruct: Equatable where Value: Equatable {}
extension ReadStruct: Hashable where Value: Hashable {}
extension ReadStruct: Sendable where Value: Sendable {}

extension ReadStruct {
    /// Reads the structure at `pointer`. Reads no byte that is inaccessible or beyond its `size`.
    init<Root>(_ pointer: UnsafePointer<Root>?, _ read: (Root) -> Value) {
        guard let pointer = unsafe pointer else {
            self = .missing
            return
        }
        guard unsafe ReadableMemory.contains(pointer, 4) else {
            self = .unreadable
            return
        }
        let size = unsafe UnsafeRawPointer(pointer).loadUnaligned(as: UInt32.self)
        guard Int(size) >= MemoryLayout<Root>.size else {
            self = .short(size)
            return
        }
        guard unsafe ReadableMemory.contains(pointer, MemoryLayout<Root>.size) else {
            self = .unreadable
            return
        }
        unsafe portolan_depend_on(pointer, MemoryLayout<Root>.size)
        let value = unsafe read(UnsafeRawPointer(pointer).loadUnaligned(as: Root.self))
        self = Int(size) > MemoryLayout<Root>.size ? .large(size, value) : .whole(value)
    }

    /// The values at `start`; `nil` if they cannot be read, or are more than `limit`.
    static func list<Element>(_ start: UnsafePointer<Element>?, _ count: Int, atMost limit: Int, _ read: (Element) -> Value) -> [Value]? {
        guard count != 0 else { return [] }
        guard let start = unsafe start, (1...limit).contains(count),
            unsafe ReadableMemory.contains(start, count * MemoryLayout<Element>.stride)
        else { return nil }
        return (0..<count).map { unsafe read(start[$0]) }
    }
}

/// A structure that points at others.
protocol CompletenessChecking {
    /// The parts that are declared, but cannot be read.
    var unreadable: [String] { get }
    /// Whether every reserved member is zero.
    var isReservedZero: Bool { get }
    /// The `size` of a part that is larger than this version's structure.
    var sizeOfLargePart: UInt32? { get }
}

extension CompletenessChecking {
    var isReservedZero: Bool { true }
    var sizeOfLargePart: UInt32? { nil }
}
