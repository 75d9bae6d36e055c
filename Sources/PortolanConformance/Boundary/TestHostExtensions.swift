// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanPlugins

/// The extensions that the runner offers: `portolan.nested/1`, `portolan.watch/1` and `portolan.helpers/1`.
@safe
enum TestHostExtensions {
    static let nested = PORTOLAN_NESTED
    static let watch = PORTOLAN_WATCH
    static let helpers = PORTOLAN_HELPERS

    /// The table of an extension; `nil` if the runner does not offer it.
    static func table(_ identifier: String) -> UnsafeRawPointer? {
        switch identifier {
        case nested: unsafe UnsafeRawPointer(nestedTable.pointer)
        case watch: unsafe UnsafeRawPointer(watchTable.pointer)
        case helpers: unsafe UnsafeRawPointer(portolan_host_helper_table())
        default: nil
        }
    }

    @safe
    private struct Table<Root>: @unchecked Sendable {  // … because it is written once, before it is shared
        let pointer: UnsafeMutablePointer<Root>

        init(_ table: Root) {
            unsafe pointer = UnsafeMutablePointer<Root>.allocate(capacity: 1)
            unsafe pointer.initialize(to: table)
        }
    }

    private static let nestedTable = unsafe Table(
        portolan_nested_table(
            size: UInt32(MemoryLayout<portolan_nested_table>.size), reserved: 0,
            open: { client, change in unsafe ProbeClient.at(client).openNested(change.orNil).handle },
            response: { nested, place in unsafe ProbedNestedLoad.at(nested).getResponse(place) },
            next: { nested, place in unsafe ProbedNestedLoad.at(nested).next(place) },
            error: { nested in unsafe ProbedNestedLoad.at(nested).getError() },
            close: { nested in unsafe ProbedNestedLoad.at(nested).close() }))

    private static let watchTable = unsafe Table(
        portolan_watch_table(
            size: UInt32(MemoryLayout<portolan_watch_table>.size), reserved: 0,
            watch: { client, descriptor, readiness in unsafe ProbeClient.at(client).watches.watch(descriptor, readiness) },
            ready: { client, descriptor in unsafe ProbeClient.at(client).watches.ready(descriptor) },
            unwatch: { client, descriptor in unsafe ProbeClient.at(client).watches.unwatch(descriptor) },
            set_timer: { client, timer, delay in unsafe ProbeClient.at(client).watches.setTimer(timer, delay) },
            fired: { client, timer in unsafe ProbeClient.at(client).watches.fired(timer) }))
}
