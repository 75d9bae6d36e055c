// SPDX-License-Identifier: Apache-2.0

import CPluginObservation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The content of pages, and whether it can be changed.
struct PageState: Hashable {
    let bytes: [UInt8]
    let isWritable: Bool
}

/// A const argument of a plugin's function.
protocol ConstArgument: Sendable {
    /// Names the argument if the plugin has written to it or made it writable, although it was protected; otherwise
    /// `nil`.
    var changedArgument: String? { get }
}

/// Memory between two inaccessible guard pages, so that an access beyond its end crashes. The memory can be made
/// inaccessible, too; then every access crashes (`mmap(2)`, `mprotect(2)`).
@safe
struct GuardedPages: ~Copyable, @unchecked Sendable {  // … because the addresses do not change between `init` and `deinit`
    static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

    private let mapping: UnsafeMutableRawPointer
    private let mappedSize: Int
    /// The first byte, at the start of a page.
    let base: UnsafeMutableRawPointer
    /// The size in bytes, a multiple of the page size.
    let size: Int

    /// Maps at least `count` zeroed bytes.
    init(_ count: Int) throws(CheckSkipped) {
        let page = Self.pageSize
        let size = max(1, (count + page - 1) / page) * page
        let mappedSize = size + 2 * page
        let memory = unsafe mmap(nil, mappedSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
            throw CheckSkipped.resourceShortage("no memory could be mapped (errno \(errno))")
        }
        // The number of mappings of a process is limited.
        guard unsafe mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0 else {
            let errorNumber = errno
            unsafe munmap(memory, mappedSize)
            throw CheckSkipped.resourceShortage("no memory could be mapped (errno \(errorNumber))")
        }
        unsafe (mapping, base) = unsafe (memory, memory + page)
        (self.size, self.mappedSize) = (size, mappedSize)
    }

    /// Makes the memory read-only.
    func protect() {
        unsafe mprotect(base, size, PROT_READ)
    }

    /// Makes the memory inaccessible.
    func poison() {
        unsafe mprotect(base, size, PROT_NONE)
    }

    /// The content, and whether it can be changed; `nil` if it cannot be read.
    var state: PageState? {
        guard unsafe ReadableMemory.contains(base, size) else { return nil }
        let pages = stride(from: 0, to: size, by: Self.pageSize)
        return unsafe PageState(
            bytes: Array(UnsafeRawBufferPointer(start: base, count: size)),
            isWritable: pages.contains { unsafe portolan_can_write(base + $0) == 1 })
    }

    deinit {
        unsafe munmap(mapping, mappedSize)
    }
}
