// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The part of a library's file that the dynamic linker maps, according to the program headers (`elf(5)`) in this
/// process's format.
///
/// The linker maps this part without checking the file's length. The first access beyond the end causes SIGBUS. This
/// happens if a compiler is still writing the file.
enum ELFSegments {
    /// Returns the offset behind the last mapped byte.
    ///
    /// - Parameter header: the file's first ``headerLength`` bytes, of this process's class and byte order.
    /// - Returns: `nil` if the program headers cannot be read; the file is then truncated, too.
    static func end(_ header: [UInt8], of descriptor: CInt) -> UInt64? {
        let layout = Layout.ofThisProcess
        guard header.count >= headerLength else { return nil }
        let (start, size) = (word(header, layout.tableAt), half(header, layout.entrySizeAt))
        let count = half(header, layout.entryCountAt)
        guard size >= layout.entryLength, start < UInt64(Int32.max) else { return nil }
        var table = [UInt8](repeating: 0, count: size * count)
        guard unsafe pread(descriptor, &table, table.count, off_t(start)) == table.count else { return nil }
        var end: UInt64 = 0
        for entry in stride(from: 0, to: table.count, by: size) where number(table, entry, 4) == loadable {
            let (last, overflows) = word(table, entry + layout.offsetAt).addingReportingOverflow(word(table, entry + layout.sizeAt))
            end = overflows ? .max : max(end, last)
        }
        return end
    }

    /// `sizeof(Elf64_Ehdr)`, which is larger than `sizeof(Elf32_Ehdr)`.
    static let headerLength = 64
    private static let loadable: UInt64 = 1

    /// The offsets of the numbers that are read.
    private struct Layout {
        let tableAt, entrySizeAt, entryCountAt: Int
        let entryLength, offsetAt, sizeAt: Int

        #if _pointerBitWidth(_64)
            static let ofThisProcess = Layout(
                tableAt: 32, entrySizeAt: 54, entryCountAt: 56, entryLength: 56, offsetAt: 8, sizeAt: 32)
        #else
            static let ofThisProcess = Layout(
                tableAt: 28, entrySizeAt: 42, entryCountAt: 44, entryLength: 32, offsetAt: 4, sizeAt: 16)
        #endif
    }

    private static func half(_ bytes: [UInt8], _ index: Int) -> Int { Int(number(bytes, index, 2)) }
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
