// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Synchronization

/// The state of one started plugin. All its loads share it. The host's pointer is valid until `deinit` has returned.
///
/// Threads: [any].
@safe
final class PluginInstance: Sendable {
    /// The host's version, for people and logs, for example `0.1.0`.
    let hostVersion: String
    /// The configuration as a JSON object.
    let configuration: [UInt8]
    let settings: [(name: String, value: PluginPropertyValue)]
    let isMultipart: Bool
    /// The functions of the extension `portolan.nested/1`, valid as long as the host. `nil` if this host does not have
    /// it.
    let nested: NestedTable?
    /// `nil` once the plugin has ended.
    private let host: Mutex<HostPointer?>

    @safe
    private struct HostPointer: @unchecked Sendable {  // … because `log` is [any], and nothing else is read through it
        let pointer: UnsafeMutablePointer<portolan_host>
    }

    @safe
    struct NestedTable: @unchecked Sendable {  // … because it never changes
        let pointer: UnsafePointer<portolan_nested_table>
    }

    init(_ host: UnsafeMutablePointer<portolan_host>, isMultipart: Bool) {
        let cValue = unsafe host.pointee
        hostVersion = unsafe cValue.version.text ?? ""
        configuration = unsafe Array(cValue.configuration.buffer)
        settings = unsafe [(name: String, value: PluginPropertyValue)](cValue.settings, count: cValue.setting_count)
        self.isMultipart = isMultipart
        nested = unsafe cValue.extension(host, PORTOLAN_NESTED).map {
            unsafe NestedTable(pointer: $0.assumingMemoryBound(to: portolan_nested_table.self))
        }
        self.host = unsafe Mutex(HostPointer(pointer: host))
    }

    /// Calls the host's log under the lock, so that no thread uses the host after `end` has returned. The host's log
    /// calls no plugin.
    func log(_ level: portolan_level, _ message: String) {
        let arena = Arena()
        let text = unsafe arena.string(message)
        host.withLock { host in
            if let pointer = unsafe host?.pointer { unsafe pointer.pointee.log(pointer, level, text) }
        }
        withExtendedLifetime(arena) {}
    }

    /// Ends the use of the host, whose pointer becomes invalid.
    func end() {
        host.withLock { $0 = nil }
    }
}
