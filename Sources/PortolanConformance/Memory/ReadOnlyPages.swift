// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// A C value and everything it points at, on separate pages. The pages can be made read-only, and inaccessible when the
/// borrow ends.
@safe
struct ReadOnlyPages<Root>: ~Copyable, @unchecked Sendable {  // … because the memory does not change until it is made inaccessible
    private let pages: GuardedPages
    let pointer: UnsafePointer<Root>

    /// - Parameter build: Makes the value, and puts its parts into the arena. Called twice: once to measure, and once
    ///   to fill.
    init(_ build: (inout CArena) -> Root) throws(CheckSkipped) {
        var arena = CArena()
        _ = unsafe arena.reserve(Root.self, count: 1)
        _ = build(&arena)
        // The values are at the end of the pages, so that an access beyond their aligned size hits the guard page.
        let size = (arena.usedSize + CArena.alignment - 1) / CArena.alignment * CArena.alignment
        pages = try GuardedPages(size)
        let start = unsafe pages.base + (pages.size - size)
        arena = unsafe CArena(start)
        let root = unsafe arena.reserve(Root.self, count: 1)
        unsafe root?.initialize(to: build(&arena))
        unsafe pointer = UnsafePointer(start.assumingMemoryBound(to: Root.self))
    }

    /// Makes the memory read-only.
    func protect() {
        pages.protect()
    }

    var state: PageState? { pages.state }

    func poison() {
        pages.poison()
    }
}
