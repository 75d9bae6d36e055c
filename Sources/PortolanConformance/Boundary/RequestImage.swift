// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

/// A request as the plugin borrows it, on separate memory pages.
@safe
final class RequestImage: ConstArgument, @unchecked Sendable {  // … because the memory does not change until it is made inaccessible
    private let parts: ReadOnlyPages<portolan_request>
    private let table: GuardedTable<portolan_request>
    /// The state of the pages when the plugin received them; `nil` if they are not read-only.
    private var protectedState: [PageState?]?
    /// The request that the image represents.
    let request: Request

    /// - Parameter text: The URL as the caller wrote it, if it differs from the serialized URL.
    init(_ request: Request, _ argumentMemory: ArgumentMemory = .freely, originalURL text: String? = nil) throws(CheckSkipped) {
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
        protectedState = unsafe [parts.state, table.state]
    }

    var changedArgument: String? {
        guard let protectedState, unsafe [parts.state, table.state] != protectedState else { return nil }
        return "the request of \(request.url.shortDescription)"
    }

    /// The object whose image is at `pointer`.
    static func at(_ pointer: UnsafePointer<portolan_request>) -> RequestImage {
        unsafe GuardedTable.object(of: UnsafeMutablePointer(mutating: pointer), as: RequestImage.self)
    }

    var pointer: UnsafePointer<portolan_request> { unsafe UnsafePointer(table.pointer) }

    /// Makes the memory inaccessible.
    func poison() {
        unsafe parts.poison()
        unsafe table.poison()
    }
}
