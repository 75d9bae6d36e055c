// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Receives the error that a plugin's function passes to `give` of its `portolan_refusal`. The last error counts.
/// Errors from other threads are ignored.
final class Refusal {
    typealias Reason = Result<LoadError, ContractViolation>

    private var reason: Reason?
    private let thread = pthread_self()

    /// Calls `function`, a function of the plugin, with a `portolan_refusal`.
    ///
    /// - Returns: the error, or the violation if the error is malformed. `nil` if `function` did not call `give`.
    static func collect(_ function: (UnsafeMutablePointer<portolan_refusal>) -> Void) -> Reason? {
        let refusal = Refusal()
        let table = unsafe CallbackTable(
            portolan_refusal(size: UInt32(MemoryLayout<portolan_refusal>.size), reserved: 0) { table, error in
                unsafe CallbackTable.object(of: table, as: Refusal.self).takeUnretainedValue().receive(error.orNil)
            })
        table.setObject(refusal)
        unsafe function(table.pointer)
        table.deallocate()
        return withExtendedLifetime(refusal) { refusal.reason }
    }

    private func receive(_ error: UnsafePointer<portolan_error>?) {
        guard pthread_equal(thread, pthread_self()) != 0 else { return }
        do throws(ContractViolation) {
            reason = .success(try unsafe LoadError(reading: error))
        } catch {
            reason = .failure(error)
        }
    }
}
