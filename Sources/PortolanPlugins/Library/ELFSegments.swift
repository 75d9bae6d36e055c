// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the part of a library that the dynamic linker maps, in the program headers (`elf(5)`).
///
/// The linker does not check the length of the file. If the file is shorter than the mapped part, because a compiler is
/// still writing it, the first access beyond its end causes SIGBUS.
enum ELFSegments {
    /// Returns the offset after the last mapped byte.
    ///
    /// - Parameter header: the first ``headerLength`` bytes of the file, in the class and byte order of this process.
    /// - Returns: `nil` if the program headers cannot be read, because the file is truncated.
    static func end(_ header: [UInt8], of descriptor: CInt) -> UInt64? {
        let layout = Layout.ofThisProcess
        guard header.count >= headerLength else { return nil }
        let (start, size) = (word(header, layout.tableOffset), halfWord(header, layout.entrySizeOffset))
        let count = halfWord(header, layout.entryCountOffset)
        guard size >= layout.entryLength, start < UInt64(Int32.max) else { return nil }
        var table = [UInt8](repeating: 0, count: size * count)
        guard unsafe pread(descriptor, &table, table.count, off_t(start)) == table.count else { return nil }
        var end: UInt64 = 0
        for entry in stride(from: 0, to: table.count, by: size) where number(table, entry, 4) == loadableType {
            let (segmentEnd, overflows) = word(table, entry + layout.segmentOffset).addingReportingOverflow(
                word(table, entry + layout.segmentSizeOffset))
            end = overflows ? .max : max(end, segmentEnd)
        }
        return end
    }

    /// `sizeof(Elf64_Ehdr)`, which is larger than `sizeof(Elf32_Ehdr)`.
    static let headerLength = 64
    /// PT_LOAD.
    private static let loadableType: UInt64 = 1

    /// The offsets of the numbers in the file header and in a program header.
    private struct Layout {
        let tableOffset, entrySizeOffset, entryCountOffset: Int
        let entryLength, segmentOffset, segmentSizeOffset: Int

        #if _pointerBitWidth(_64)
            static let ofThisProcess = Layout(
                tableOffset: 32, entrySizeOffset: 54, entryCountOffset: 56, entryLength: 56, segmentOffset: 8, segmentSizeOffset: 32)
        #else
            static let ofThisProcess = Layout(
                tableOffset: 28, entrySizeOffset: 42, entryCountOffset: 44, entryLength: 32, segmentOffset: 4, segmentSizeOffset: 16)
        #endif
    }

    private static func halfWord(_ bytes: [UInt8], _ index: Int) -> Int { Int(number(bytes, index, 2)) }
    private static func word(_ bytes: [UInt8], _ index: Int) -> UInt64 { number(bytes, index, Int.bitWidth / 8) }

    private static func number(_ bytes: [UInt8], _ index: Int, _ count: Int) -> UInt64 {
        #if _endian(little)
            let digits = bytes[index..<index + count].reversed()
        #else
            let digits = bytes[index..<index + count]
        #endif
        return digits.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
