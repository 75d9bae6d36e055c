// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

/// A request as a plugin is lent it, in pages of its own.
@safe
final class LentRequest: @unchecked Sendable {  // … because the memory does not change until it is taken away
    private let parts: LentPages<portolan_request>
    private let table: GuardedTable<portolan_request>

    /// - Parameters:
    ///   - isFlush: whether the struct ends where a page ends, before one that nobody may touch.
    ///   - text: the URL as the caller wrote it, where that is not the way it is written now.
    init(_ request: Request, isFlush: Bool = false, asked text: String? = nil) throws(Unjudged) {
        unsafe parts = try unsafe LentPages { arena in
            var image = unsafe portolan_request(request, in: &arena)
            if let text { unsafe image.url = arena.string(text) }
            return unsafe image
        }
        unsafe table = try unsafe GuardedTable(isFlush: isFlush, parts.pointer.pointee)
    }

    var pointer: UnsafePointer<portolan_request> { unsafe UnsafePointer(table.pointer) }

    /// From now on nobody can look at it.
    func poison() {
        unsafe parts.poison()
        unsafe table.poison()
    }
}
