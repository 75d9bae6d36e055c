// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

/// A request as a plugin is lent it, in pages of its own.
@safe
final class RequestImage: ConstArgument, @unchecked Sendable {  // … because the memory does not change until it is taken away
    private let parts: ReadOnlyPages<portolan_request>
    private let table: GuardedTable<portolan_request>
    /// As they were lent, where nobody may write to them.
    private var protected: [PageState?]?
    /// What it is the image of.
    let request: Request

    /// - Parameter text: the URL as the caller wrote it, where that is not the way it is written now.
    init(_ request: Request, _ argumentMemory: ArgumentMemory = .freely, asked text: String? = nil) throws(CheckSkipped) {
        self.request = request
        unsafe parts = try unsafe ReadOnlyPages { arena in
            var image = unsafe portolan_request(request, in: &arena)
            if let text { unsafe image.url = arena.string(text) }
            return unsafe image
        }
        unsafe table = try unsafe GuardedTable(argumentMemory, parts.pointer.pointee)
        unsafe table.serve(self)
        guard argumentMemory == .readOnly else { return }
        unsafe parts.protect()
        unsafe table.protect()
        protected = unsafe [parts.state, table.state]
    }

    var changed: String? {
        guard let protected, unsafe [parts.state, table.state] != protected else { return nil }
        return "the request of \(request.url.shortDescription)"
    }

    /// The one that lent the image at `pointer`.
    static func at(_ pointer: UnsafePointer<portolan_request>) -> RequestImage {
        unsafe GuardedTable.object(of: UnsafeMutablePointer(mutating: pointer), as: RequestImage.self)
    }

    var pointer: UnsafePointer<portolan_request> { unsafe UnsafePointer(table.pointer) }

    /// From now on nobody can look at it.
    func poison() {
        unsafe parts.poison()
        unsafe table.poison()
    }
}
