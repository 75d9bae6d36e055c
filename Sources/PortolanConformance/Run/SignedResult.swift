// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory in which a check's process leaves its result for the runner.
///
/// No descriptor refers to this memory, and its pages are inaccessible to the plugin's process during the check
/// (`mprotect(2)`). The result is signed with a key that is new for each check, comes with the order, and is not in
/// this memory. So a plugin that writes to all memory that it finds, ends the process, or continues in another process
/// leaves no valid result.
@safe
final class SignedResult: @unchecked Sendable {  // … because one process at a time writes to it, on one thread
    private static let signatureSize = 64
    /// The offsets of the signature, the length, the seal and the bytes.
    private static let (signatureStart, lengthStart, sealStart, bytesStart) = (64, 128, 192, 4096)
    /// The limit of a result, in bytes.
    private static let maximumSize = 1 << 20
    private static var size: Int { bytesStart + maximumSize }

    private let memory: UnsafeMutableRawPointer
    /// The key of the current check. It is up to date only in the runner's process, which creates it.
    private(set) var key = ResultKey()

    /// - Throws: If no memory can be mapped.
    init() throws(CheckSkipped) {
        let mapped = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
            throw CheckSkipped.resourceShortage("no memory could be mapped (errno \(errno))")
        }
        unsafe memory = mapped
    }

    deinit { unmap() }

    /// Unmaps the memory only in this process, which must not use it again.
    func unmap() { unsafe munmap(memory, Self.size) }

    // MARK: The runner

    /// Deletes the last result, and creates the key for the next one.
    func renew() {
        key = ResultKey()
        unsafe (memory + Self.sealStart).copyMemory(from: Self.seal(key), byteCount: Self.signatureSize)
        unsafe memory.storeBytes(of: 0, toByteOffset: Self.lengthStart, as: Int.self)
    }

    enum Content: Equatable {
        case result([UInt8])
        case nothing
        /// The memory contains something that the check did not write.
        case forged
    }

    /// The content that the process left. The process must have ended.
    func content(for rule: ConformanceRule) -> Content {
        let count = unsafe memory.load(fromByteOffset: Self.lengthStart, as: Int.self)
        guard count != 0 else { return .nothing }
        guard count > 0, count <= Self.maximumSize else { return .forged }
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: memory + Self.bytesStart, count: count))
        let signature = unsafe Array(UnsafeRawBufferPointer(start: memory + Self.signatureStart, count: Self.signatureSize))
        return isSealed(key) && signature == Self.signature(of: bytes, rule, key) ? .result(bytes) : .forged
    }

    // MARK: The check's process

    /// Makes the memory inaccessible to this process, before any code of the plugin is called.
    func close() { unsafe mprotect(memory, Self.size, PROT_NONE) }

    /// Makes the memory accessible, and stores the result.
    ///
    /// - Returns: Whether the result could be stored.
    func store(_ bytes: [UInt8], for rule: ConformanceRule, _ key: ResultKey) -> Bool {
        guard !bytes.isEmpty, bytes.count <= Self.maximumSize, unsafe mprotect(memory, Self.size, PROT_READ | PROT_WRITE) == 0,
            isSealed(key)
        else { return false }
        unsafe (memory + Self.bytesStart).copyMemory(from: bytes, byteCount: bytes.count)
        unsafe (memory + Self.signatureStart).copyMemory(from: Self.signature(of: bytes, rule, key), byteCount: Self.signatureSize)
        unsafe memory.storeBytes(of: bytes.count, toByteOffset: Self.lengthStart, as: Int.self)
        return true
    }

    /// Whether the seal is the one that ``renew()`` stored.
    private func isSealed(_ key: ResultKey) -> Bool {
        unsafe Array(UnsafeRawBufferPointer(start: memory + Self.sealStart, count: Self.signatureSize)) == Self.seal(key)
    }

    /// A digest that does not reveal the key.
    private static func seal(_ key: ResultKey) -> [UInt8] { Array(SHA256.hexadecimal(of: key.bytes + [0] + key.bytes).utf8) }

    private static func signature(of bytes: [UInt8], _ rule: ConformanceRule, _ key: ResultKey) -> [UInt8] {
        Array(SHA256.hexadecimal(of: key.bytes + rule.id.utf8 + [0] + bytes + key.bytes).utf8)
    }
}

/// The key that signs the result of one check.
struct ResultKey: Hashable, Sendable {
    static let size = 32

    private let words: [UInt64]

    /// Creates a random key.
    init() {
        var numbers = SystemRandomNumberGenerator()
        words = (0..<Self.size / 8).map { _ in numbers.next() }
    }

    /// - Parameter bytes: Exactly ``size`` bytes.
    init(_ bytes: some Collection<UInt8>) {
        var rest = Array(bytes)[...]
        var words: [UInt64] = []
        while rest.count >= 8 {
            words.append(rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
            rest = rest.dropFirst(8)
        }
        self.words = words
    }

    var bytes: [UInt8] { words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } } }
}
