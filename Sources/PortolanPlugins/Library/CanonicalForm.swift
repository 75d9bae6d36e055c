// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Receives the canonical form that a plugin's `canonical_request` passes to `give`.
final class CanonicalForm {
    private let original: Request
    private var result: Request?
    private(set) var violation: ContractViolation?
    private let thread = pthread_self()

    private init(of request: Request) {
        original = request
    }

    /// Calls `function`, the plugin's `canonical_request`, with a `portolan_canonical`.
    ///
    /// - Returns: the canonical request of the first valid call of `give`, or `request` if there was none; and the last
    ///   violation.
    static func collect(
        for request: Request, _ function: (UnsafeMutablePointer<portolan_canonical>) -> Void
    ) -> (request: Request, violation: ContractViolation?) {
        let form = CanonicalForm(of: request)
        let table = unsafe CallbackTable(
            portolan_canonical(size: UInt32(MemoryLayout<portolan_canonical>.size), reserved: 0) { table, change in
                unsafe CallbackTable.object(of: table, as: CanonicalForm.self).takeUnretainedValue().receive(change.orNil)
            })
        table.setObject(form)
        unsafe function(table.pointer)
        table.deallocate()
        return withExtendedLifetime(form) { (form.result ?? request, form.violation) }
    }

    private func receive(_ change: UnsafePointer<portolan_change>?) {
        guard pthread_equal(thread, pthread_self()) != 0 else { return }
        guard result == nil else {
            violation = ContractViolation(.canonicalIsGivenOnce, "canonical_request called `give` twice; the first call counts")
            return
        }
        do throws(ContractViolation) {
            result = try unsafe original.applying(change)
        } catch {
            violation = error
        }
    }
}
