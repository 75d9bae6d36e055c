// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory of its own between two pages that nobody may touch, and that can be taken away: whoever reads it then, or past its end, is stopped by
/// the processor (`mmap(2)`, `mprotect(2)`).
@safe
struct GuardedPages: ~Copyable, @unchecked Sendable {  // … because the addresses do not change between `init` and `deinit`
    static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

    private let mapping: UnsafeMutableRawPointer
    private let mappedSize: Int
    /// The first byte; a page begins here.
    let base: UnsafeMutableRawPointer
    /// All of it, in whole pages.
    let size: Int

    /// Room for `count` bytes at least, zeroed.
    init(_ count: Int) throws(Unjudged) {
        let page = Self.pageSize
        let size = max(1, (count + page - 1) / page) * page
        let mappedSize = size + 2 * page
        let memory = unsafe mmap(nil, mappedSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { throw Unjudged("no memory could be mapped (errno \(errno))") }
        // A process has so many mappings and no more.
        guard unsafe mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0 else {
            let number = errno
            unsafe munmap(memory, mappedSize)
            throw Unjudged("no memory could be mapped (errno \(number))")
        }
        unsafe (mapping, base) = unsafe (memory, memory + page)
        (self.size, self.mappedSize) = (size, mappedSize)
    }

    /// From now on the memory can only be read.
    func protect() {
        unsafe mprotect(base, size, PROT_READ)
    }

    /// From now on nobody can touch the memory.
    func poison() {
        unsafe mprotect(base, size, PROT_NONE)
    }

    deinit {
        unsafe munmap(mapping, mappedSize)
    }
}
