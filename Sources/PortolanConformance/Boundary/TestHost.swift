// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
import PortolanCore
import PortolanPlugins
import Synchronization

/// The host as an instance of a plugin sees it. Records the plugin's calls.
@safe
final class TestHost: ConstArgument, @unchecked Sendable {  // … because all that changes is behind the mutex
    let table: GuardedTable<portolan_host>
    private let configuration: ReadOnlyPages<Configuration>
    /// The state of the pages when the plugin received them; `nil` if they are not read-only.
    private var protectedState: PageState?
    private let callLog: CallLog
    private let state = Mutex(State())

    struct State {
        var calls: [Call] = []
        var recordsOnlyLateCalls = false
        var hasEnded = false
    }

    struct Call: Hashable, Sendable {
        let function: String
        /// The text that was logged, or the identifier of the extension that was requested.
        let text: String
        let isAfterEnd: Bool
    }

    /// The values to which the table points.
    @unsafe
    private struct Configuration {
        var version = unsafe portolan_string()
        var json = unsafe portolan_string()
        var settings: UnsafePointer<portolan_property>?
        var settingCount = 0
    }

    let argumentMemory: ArgumentMemory
    private let extensions: Set<String>

    /// The extensions that a host of this version offers.
    static let allExtensions: Set<String> = [TestHostExtensions.nested, TestHostExtensions.watch, TestHostExtensions.helpers]

    init(_ configuration: PluginConfiguration, offering extensions: Set<String>, _ argumentMemory: ArgumentMemory, callLog: CallLog)
        throws(CheckSkipped)
    {
        (self.callLog, self.extensions, self.argumentMemory) = (callLog, extensions, argumentMemory)
        unsafe self.configuration = try unsafe ReadOnlyPages { arena in
            var values = unsafe Configuration()
            unsafe values.version = arena.string(portolanVersion)
            unsafe values.json = arena.string(configuration.json)
            unsafe (values.settings, values.settingCount) = arena.list(configuration.settings) { unsafe $1.property($0.name, $0.value) }
            return unsafe values
        }
        if argumentMemory == .readOnly {
            unsafe self.configuration.protect()
            protectedState = unsafe self.configuration.state
        }
        let values = unsafe self.configuration.pointer.pointee
        unsafe table = try unsafe GuardedTable(
            argumentMemory,
            portolan_host(
                size: UInt32(MemoryLayout<portolan_host>.size), abi_minor: PORTOLAN_ABI_MINOR, version: values.version,
                configuration: values.json, settings: values.settings, setting_count: values.settingCount,
                extension: { host, identifier in
                    unsafe TestHost.at(host).extensionTable(identifier.orNil.map { unsafe String(cString: $0) } ?? "NULL")
                },
                log: { host, level, message in
                    unsafe TestHost.at(host).record("log", ReadText(message).quoted)
                }))
        unsafe table.serve(self)
    }

    var changedArgument: String? {
        guard let protectedState, unsafe configuration.state != protectedState else { return nil }
        return "the configuration of init"
    }

    private static func at(_ pointer: UnsafeMutablePointer<portolan_host>) -> TestHost {
        unsafe GuardedTable.object(of: pointer, as: TestHost.self)
    }

    private func extensionTable(_ identifier: String) -> UnsafeRawPointer? {
        record("extension", identifier)
        return extensions.contains(identifier) ? unsafe TestHostExtensions.table(identifier) : nil
    }

    private func record(_ function: String, _ text: String) {
        callLog.record("host.\(function) \(text)", thread: portolan_thread_number())
        state.withLock { state in
            // If a plugin logs each load, the first messages are enough. Messages after the end are for REG-07.
            guard state.hasEnded || (state.calls.count < 1000 && !state.recordsOnlyLateCalls) else { return }
            state.calls.append(Call(function: function, text: text, isAfterEnd: state.hasEnded))
        }
    }

    /// From now on, only calls after the end are recorded. Otherwise the runner's own memory would grow with each load
    /// that logs or requests an extension.
    func recordOnlyLateCalls() {
        state.withLock { $0.recordsOnlyLateCalls = true }
    }

    /// Records that `deinit` has returned.
    func end() {
        state.withLock { $0.hasEnded = true }
    }

    var calls: [Call] { state.withLock(\.calls) }
}
