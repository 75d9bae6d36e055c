// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Receives the canonical form that `canonical_request` gives to its `portolan_canonical`.
final class CanonicalForm {
    private let original: Request
    private var result: Request?
    private(set) var violation: ContractViolation?
    private let thread = pthread_self()

    private init(of request: Request) {
        original = request
    }

    /// Calls `body` with a `portolan_canonical`.
    ///
    /// - Returns: the canonical request; `request` if `body` gave nothing or violated a rule.
    static func collect(
        for request: Request, _ body: (UnsafeMutablePointer<portolan_canonical>) -> Void
    ) -> (request: Request, violation: ContractViolation?) {
        let form = CanonicalForm(of: request)
        let table = unsafe CallbackTable(
            portolan_canonical(size: UInt32(MemoryLayout<portolan_canonical>.size), reserved: 0) { table, change in
                unsafe CallbackTable.object(of: table, as: CanonicalForm.self).takeUnretainedValue().take(change.orNil)
            })
        table.serve(form)
        unsafe body(table.pointer)
        table.deallocate()
        return withExtendedLifetime(form) { (form.result ?? request, form.violation) }
    }

    private func take(_ change: UnsafePointer<portolan_change>?) {
        guard pthread_equal(thread, pthread_self()) != 0 else { return }
        guard result == nil else {
            violation = ContractViolation(.canonicalIsGivenOnce, "the canonical form was given twice; the first one counts")
            return
        }
        do throws(ContractViolation) {
            result = try unsafe original.applying(change)
        } catch {
            violation = error
        }
    }
}
