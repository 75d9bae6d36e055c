// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory in which the process of a check leaves its result, for the judge alone to read.
///
/// No descriptor leads to it, and no code of the plugin's process can touch it while the check is made: the pages are closed (`mprotect(2)`). With it lies
/// a key, new for each check, by which the result is signed. So a plugin that writes to all that it finds, ends the process, or goes on in another leaves
/// nothing that counts as a result.
@safe
final class SealedResult: @unchecked Sendable {  // … because one process at a time writes to it, on one thread
    private static let (keySize, tagSize) = (32, 64)
    /// Where the signature, the length and the bytes stand; the key stands first.
    private static let (tagStart, lengthStart, bytesStart) = (64, 128, 4096)
    /// No result has more bytes.
    private static let largestCount = 1 << 20
    private static var size: Int { bytesStart + largestCount }

    private let memory: UnsafeMutableRawPointer
    /// In the judge's own process, which made it.
    private var key: [UInt8] = []

    /// - Throws: where no memory can be mapped.
    init() throws(Unjudged) {
        let mapped = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else { throw Unjudged("no memory could be mapped (errno \(errno))") }
        unsafe memory = mapped
    }

    deinit { leave() }

    /// Gives the memory back in this process alone, which has no more to do with it.
    func leave() { unsafe munmap(memory, Self.size) }

    // MARK: The judge

    /// Forgets the last result; the next one is signed by another key.
    func renew() {
        var numbers = SystemRandomNumberGenerator()
        key = (0..<Self.keySize).map { _ in UInt8.random(in: 0 ... .max, using: &numbers) }
        unsafe memory.copyMemory(from: key, byteCount: Self.keySize)
        unsafe memory.storeBytes(of: 0, toByteOffset: Self.lengthStart, as: Int.self)
    }

    enum Content {
        case result([UInt8])
        case nothing
        /// Something stands there that the check did not write.
        case forged
    }

    /// What the process has left, which is gone by now.
    func content(for rule: ConformanceRule) -> Content {
        let count = unsafe memory.load(fromByteOffset: Self.lengthStart, as: Int.self)
        guard count != 0 else { return .nothing }
        guard count > 0, count <= Self.largestCount else { return .forged }
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: memory + Self.bytesStart, count: count))
        let tag = unsafe Array(UnsafeRawBufferPointer(start: memory + Self.tagStart, count: Self.tagSize))
        return tag == Self.tag(of: bytes, rule, key) ? .result(bytes) : .forged
    }

    // MARK: The process of the check

    /// Closes the memory to this process, before any code of the plugin's is called.
    func close() { unsafe mprotect(memory, Self.size, PROT_NONE) }

    /// Opens the memory, and leaves the result there.
    ///
    /// - Returns: whether it could be left.
    func leave(_ bytes: [UInt8], for rule: ConformanceRule) -> Bool {
        guard !bytes.isEmpty, bytes.count <= Self.largestCount, unsafe mprotect(memory, Self.size, PROT_READ | PROT_WRITE) == 0 else {
            return false
        }
        let key = unsafe Array(UnsafeRawBufferPointer(start: memory, count: Self.keySize))
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: Self.keySize)
        unsafe (memory + Self.bytesStart).copyMemory(from: bytes, byteCount: bytes.count)
        unsafe (memory + Self.tagStart).copyMemory(from: Self.tag(of: bytes, rule, key), byteCount: Self.tagSize)
        unsafe memory.storeBytes(of: bytes.count, toByteOffset: Self.lengthStart, as: Int.self)
        return true
    }

    private static func tag(of bytes: [UInt8], _ rule: ConformanceRule, _ key: [UInt8]) -> [UInt8] {
        Array(SHA256.hexadecimal(of: key + rule.id.utf8 + [0] + bytes + key).utf8)
    }
}
