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
/// No descriptor leads to it, and no code of the plugin's process can touch it while the check is made: the pages are closed (`mprotect(2)`). The result is
/// signed by a key, new for each check, that comes with the order and does not lie in this memory. So a plugin that writes to all that it finds, ends the
/// process, or goes on in another leaves nothing that counts as a result.
@safe
final class SealedResult: @unchecked Sendable {  // … because one process at a time writes to it, on one thread
    private static let tagSize = 64
    /// Where the signature, the length, the seal and the bytes stand.
    private static let (tagStart, lengthStart, sealStart, bytesStart) = (64, 128, 192, 4096)
    /// No result has more bytes.
    private static let largestCount = 1 << 20
    private static var size: Int { bytesStart + largestCount }

    private let memory: UnsafeMutableRawPointer
    /// In the judge's own process, which made it.
    private(set) var key = ResultKey()

    /// - Throws: where no memory can be mapped.
    init() throws(CheckSkipped) {
        let mapped = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
            throw CheckSkipped.lack("no memory could be mapped (errno \(errno))")
        }
        unsafe memory = mapped
    }

    deinit { leave() }

    /// Gives the memory back in this process alone, which has no more to do with it.
    func leave() { unsafe munmap(memory, Self.size) }

    // MARK: The judge

    /// Forgets the last result; the next one is signed by another key.
    func renew() {
        key = ResultKey()
        unsafe (memory + Self.sealStart).copyMemory(from: Self.seal(key), byteCount: Self.tagSize)
        unsafe memory.storeBytes(of: 0, toByteOffset: Self.lengthStart, as: Int.self)
    }

    enum Content: Equatable {
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
        return isSealed(key) && tag == Self.tag(of: bytes, rule, key) ? .result(bytes) : .forged
    }

    // MARK: The process of the check

    /// Closes the memory to this process, before any code of the plugin's is called.
    func close() { unsafe mprotect(memory, Self.size, PROT_NONE) }

    /// Opens the memory, and leaves the result there.
    ///
    /// - Returns: whether it could be left.
    func leave(_ bytes: [UInt8], for rule: ConformanceRule, _ key: ResultKey) -> Bool {
        guard !bytes.isEmpty, bytes.count <= Self.largestCount, unsafe mprotect(memory, Self.size, PROT_READ | PROT_WRITE) == 0,
            isSealed(key)
        else { return false }
        unsafe (memory + Self.bytesStart).copyMemory(from: bytes, byteCount: bytes.count)
        unsafe (memory + Self.tagStart).copyMemory(from: Self.tag(of: bytes, rule, key), byteCount: Self.tagSize)
        unsafe memory.storeBytes(of: bytes.count, toByteOffset: Self.lengthStart, as: Int.self)
        return true
    }

    /// Whether nobody has written over the memory since the check was ordered.
    private func isSealed(_ key: ResultKey) -> Bool {
        unsafe Array(UnsafeRawBufferPointer(start: memory + Self.sealStart, count: Self.tagSize)) == Self.seal(key)
    }

    /// Tells nothing of the key.
    private static func seal(_ key: ResultKey) -> [UInt8] { Array(SHA256.hexadecimal(of: key.bytes + [0] + key.bytes).utf8) }

    private static func tag(of bytes: [UInt8], _ rule: ConformanceRule, _ key: ResultKey) -> [UInt8] {
        Array(SHA256.hexadecimal(of: key.bytes + rule.id.utf8 + [0] + bytes + key.bytes).utf8)
    }
}

/// What the result of one check is signed by.
struct ResultKey: Hashable, Sendable {
    static let size = 32

    private let words: [UInt64]

    /// A new one, at random.
    init() {
        var numbers = SystemRandomNumberGenerator()
        words = (0..<Self.size / 8).map { _ in numbers.next() }
    }

    /// - Parameter bytes: as many as ``size``.
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
