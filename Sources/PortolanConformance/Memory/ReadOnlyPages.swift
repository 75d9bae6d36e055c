// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// A C value and all that it points at, in pages of its own that can be taken away when they are no longer lent.
@safe
struct ReadOnlyPages<Root>: ~Copyable, @unchecked Sendable {  // … because the memory does not change until it is taken away
    private let pages: GuardedPages
    let pointer: UnsafePointer<Root>

    /// - Parameter build: makes the value, its parts put into the arena. Called twice: once to measure, and once to fill.
    init(_ build: (inout CArena) -> Root) throws(CheckSkipped) {
        var arena = CArena()
        _ = unsafe arena.reserve(Root.self, count: 1)
        _ = build(&arena)
        // Flush with the end, so that one byte too many meets the guard.
        let size = (arena.used + CArena.alignment - 1) / CArena.alignment * CArena.alignment
        pages = try GuardedPages(size)
        let start = unsafe pages.base + (pages.size - size)
        arena = unsafe CArena(start)
        let root = unsafe arena.reserve(Root.self, count: 1)
        unsafe root?.initialize(to: build(&arena))
        unsafe pointer = UnsafePointer(start.assumingMemoryBound(to: Root.self))
    }

    /// From now on nobody can write to it.
    func protect() {
        pages.protect()
    }

    var state: PageState? { pages.state }

    func poison() {
        pages.poison()
    }
}
