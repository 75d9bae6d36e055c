// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A handler of an instance, called as the host calls it.
struct ProbedHandler: Sendable {
    let instance: ProbedInstance
    let description: DescribedHandler

    /// - Parameter poisoning: Whether the request's memory becomes inaccessible when the call has returned.
    func canInit(_ request: Request, poisoning: Bool = false) throws(CheckSkipped) -> Bool {
        let image = try RequestImage(request, instance.argumentMemory)
        defer {
            if poisoning { image.poison() }
            instance.keep(image)
        }
        return instance.callLog.entering(LoadFunction.canInit.rawValue, url: request.url) { canInit(image) }
    }

    func canInit(_ image: RequestImage) -> Bool {
        guard let function = unsafe description.functions.can_init else { return true }
        return unsafe function(instance.state, image.pointer) != 0
    }

    /// Calls `canonical_request`, and returns the changes that the plugin gave, one per call of `give`.
    func canonicalForm(of request: Request) throws(CheckSkipped) -> ProbedForm {
        let form = ProbedForm()
        guard let function = unsafe description.functions.canonical_request else { return form }
        let image = try RequestImage(request, instance.argumentMemory)
        defer { instance.keep(image) }
        let table = try unsafe GuardedTable(
            instance.argumentMemory,
            portolan_canonical(size: UInt32(MemoryLayout<portolan_canonical>.size), reserved: 0) { table, change in
                unsafe GuardedTable.object(of: table, as: ProbedForm.self).record(change.orNil)
            })
        table.serve(form)
        instance.callLog.entering(LoadFunction.canonicalRequest.rawValue, url: request.url) {
            unsafe function(instance.state, image.pointer, table.pointer)
        }
        form.close()
        instance.keep(table)
        return form
    }

    /// Returns an image of a request that is passed to the plugin several times.
    func reusableImage(of request: Request) throws(CheckSkipped) -> RequestImage {
        let image = try RequestImage(request, instance.argumentMemory)
        instance.keep(image)
        return image
    }

    func isCacheEquivalent(_ a: RequestImage, _ b: RequestImage) -> Bool {
        guard let function = unsafe description.functions.is_cache_equivalent else { return a.request.url == b.request.url }
        return unsafe function(instance.state, a.pointer, b.pointer) != 0
    }
}

/// The calls of a plugin to a `portolan_canonical`.
final class ProbedForm: @unchecked Sendable {  // … because a lock guards everything that changes
    private let state = ConditionLock((changes: [ReadStruct<ReadChange>](), lateCallCount: 0, otherThreadCallCount: 0, isOpen: true))
    private let thread = pthread_self()

    func record(_ change: UnsafePointer<portolan_change>?) {
        let change = unsafe ReadStruct(change, ReadChange.init)
        let isOtherThread = pthread_equal(thread, pthread_self()) == 0
        state.withLock { state in
            if !state.isOpen {
                state.lateCallCount += 1
            } else if isOtherThread {
                state.otherThreadCallCount += 1
            } else {
                state.changes.append(change)
            }
        }
    }

    func close() { state.withLock { $0.isOpen = false } }

    var changes: [ReadStruct<ReadChange>] { state.withLock(\.changes) }
    /// The number of calls after the function had returned.
    var lateCallCount: Int { state.withLock(\.lateCallCount) }
    /// The number of calls from another thread.
    var otherThreadCallCount: Int { state.withLock(\.otherThreadCallCount) }
}
