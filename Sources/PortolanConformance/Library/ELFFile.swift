// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Reads a shared library without opening it (`elf(5)`); 64 bits, little-endian.
struct ELFFile {
    /// The names of the functions and objects that the library exports.
    private(set) var exports: [String] = []
    /// The libraries that the library needs (DT_NEEDED).
    private(set) var neededLibraries: [String] = []
    /// The folders that are searched for these libraries (DT_RPATH, DT_RUNPATH).
    private(set) var runPaths: [String] = []
    /// Whether the library contains Swift code, or needs one of Swift's libraries.
    private(set) var hasSwift = false
    /// Whether the library contains Rust code. Such a library contains the message with which Rust's runtime aborts if
    /// there is no memory.
    var hasRust: Bool { bytes.contains(Array("memory allocation of ".utf8)) }
    private(set) var hasExecutableStack = true
    private(set) var hasWritableCode = false

    private let bytes: [UInt8]

    /// - Throws: If the file cannot be read, or is not a 64-bit little-endian ELF file.
    init(at path: String) throws(CheckSkipped) {
        guard let data = FileManager.default.contents(atPath: path) else { throw CheckSkipped.resourceShortage("'\(path)' can't be read") }
        try self.init(Array(data))
    }

    init(_ bytes: [UInt8]) throws(CheckSkipped) {
        self.bytes = bytes
        guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else {
            throw CheckSkipped("the library is not a 64-bit little-endian ELF file")
        }
        let segments = table(at: number(32, 8), entrySize: number(54, 2), count: number(56, 2), minimumEntrySize: 56)
        for segment in segments { readFlags(segment) }
        let dynamic = segments.first { number($0, 4) == Self.dynamicSegment }
        if let dynamic { readDynamic(at: number(dynamic + 8, 8), size: number(dynamic + 32, 8)) }
        readSymbols()
    }

    private static let (dynamicSegment, loadSegment, stackSegment) = (2, 1, 0x6474_E551)

    private mutating func readFlags(_ segment: Int) {
        let flags = number(segment + 4, 4)
        switch number(segment, 4) {
        case Self.stackSegment: hasExecutableStack = flags & 1 != 0
        case Self.loadSegment: if flags & 3 == 3 { hasWritableCode = true }
        default: break
        }
    }

    private mutating func readDynamic(at start: Int, size: Int) {
        // The tags are DT_NEEDED (1), DT_STRTAB (5), DT_RPATH (15) and DT_RUNPATH (29).
        let entries = table(at: start, entrySize: 16, count: size / 16, minimumEntrySize: 16).map {
            (tag: number($0, 8), value: number($0 + 8, 8))
        }
        guard let stringsOffset = entries.first(where: { $0.tag == 5 }).map({ offset(ofAddress: $0.value) }) else { return }
        neededLibraries = entries.filter { $0.tag == 1 }.map { text(at: stringsOffset + $0.value) }
        let paths = entries.filter { $0.tag == 15 || $0.tag == 29 }.map { text(at: stringsOffset + $0.value) }
        runPaths = paths.flatMap { $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init) }
    }

    /// Reads the dynamic symbols from their section.
    private mutating func readSymbols() {
        let sections = table(at: number(40, 8), entrySize: number(58, 2), count: number(60, 2), minimumEntrySize: 64)
        let nameSectionIndex = number(62, 2)
        if nameSectionIndex < sections.count {
            let start = number(sections[nameSectionIndex] + 24, 8)
            hasSwift =
                neededLibraries.contains { $0.hasPrefix("libswift") }
                || sections.contains { text(at: start + number($0, 4)).hasPrefix("swift5_") }
        }
        // 11 is SHT_DYNSYM.
        guard let section = sections.first(where: { number($0 + 4, 4) == 11 }) else { return }
        let stringSectionIndex = number(section + 40, 4)
        guard stringSectionIndex < sections.count else { return }
        let stringsOffset = number(sections[stringSectionIndex] + 24, 8)
        let (start, size) = (number(section + 24, 8), number(section + 32, 8))
        for symbol in table(at: start, entrySize: 24, count: size / 24, minimumEntrySize: 24) {
            let info = number(symbol + 4, 1)
            let (binding, isDefined, isHidden) = (info >> 4, number(symbol + 6, 2) != 0, number(symbol + 5, 1) & 3 != 0)
            // Global, weak or unique; functions and objects. The linker's own markers have no type.
            if [1, 2, 10].contains(binding), isDefined, !isHidden, [1, 2, 6, 10].contains(info & 15) {
                exports.append(text(at: stringsOffset + number(symbol, 4)))
            }
        }
    }

    /// The file offset of an address in a mapped segment.
    private func offset(ofAddress address: Int) -> Int {
        for segment in table(at: number(32, 8), entrySize: number(54, 2), count: number(56, 2), minimumEntrySize: 56)
        where number(segment, 4) == Self.loadSegment {
            let (start, size) = (number(segment + 16, 8), number(segment + 32, 8))
            if address >= start, address - start < size { return number(segment + 8, 8) + address - start }
        }
        return bytes.count
    }

    // MARK: The file's bytes, which are untrusted

    /// The offsets of a table's entries, without those that are outside of the file.
    private func table(at start: Int, entrySize: Int, count: Int, minimumEntrySize: Int) -> [Int] {
        guard entrySize >= minimumEntrySize, start <= bytes.count, count > 0 else { return [] }
        return (0..<min(count, 1 << 16)).map { start + $0 * entrySize }.filter { $0 + entrySize <= bytes.count }
    }

    /// A little-endian number. 0 if it is outside of the file, and 2^40 if it is larger than that, so that sums of
    /// offsets do not overflow.
    private func number(_ offset: Int, _ size: Int) -> Int {
        guard offset >= 0, offset <= bytes.count - size else { return 0 }
        let value = bytes[offset..<offset + size].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(min(value, 1 << 40))
    }

    private func text(at offset: Int) -> String {
        guard offset >= 0, offset < bytes.count else { return "" }
        return String(decoding: bytes[offset...].prefix(4096).prefix { $0 != 0 }, as: UTF8.self)
    }
}
