// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Synchronization

/// One started plugin as its loads see it: the values that are borrowed from the host until `deinit` has returned.
///
/// Threads: [any].
@safe
final class PluginInstance: Sendable {
    /// For people and logs, as in 0.1.0.
    let hostVersion: String
    /// A JSON object.
    let configuration: [UInt8]
    let settings: [(name: String, value: PluginPropertyValue)]
    let isMultipart: Bool
    /// `portolan.nested/1`; `nil` if this host does not offer it. Lives as long as the host.
    let nested: NestedTable?
    /// `nil` once the plugin has ended.
    private let host: Mutex<HostPointer?>

    @safe
    private struct HostPointer: @unchecked Sendable {  // … because `log` is [any], and the rest was read before
        let pointer: UnsafeMutablePointer<portolan_host>
    }

    @safe
    struct NestedTable: @unchecked Sendable {  // … because it never changes
        let pointer: UnsafePointer<portolan_nested_table>
    }

    init(_ host: UnsafeMutablePointer<portolan_host>, isMultipart: Bool) {
        let lent = unsafe host.pointee
        hostVersion = unsafe lent.version.text ?? ""
        configuration = unsafe Array(lent.configuration.buffer)
        settings = unsafe [(name: String, value: PluginPropertyValue)](lent.settings, count: lent.setting_count)
        self.isMultipart = isMultipart
        nested = unsafe lent.extension(host, PORTOLAN_NESTED).map {
            unsafe NestedTable(pointer: $0.assumingMemoryBound(to: portolan_nested_table.self))
        }
        self.host = unsafe Mutex(HostPointer(pointer: host))
    }

    /// Calls the host's log under the lock, so that no thread is in it when `end` has returned. The host's log calls no
    /// plugin.
    func log(_ level: portolan_level, _ message: String) {
        let arena = Arena()
        let text = unsafe arena.string(message)
        host.withLock { host in
            if let pointer = unsafe host?.pointer { unsafe pointer.pointee.log(pointer, level, text) }
        }
        withExtendedLifetime(arena) {}
    }

    func end() {
        host.withLock { $0 = nil }
    }
}
