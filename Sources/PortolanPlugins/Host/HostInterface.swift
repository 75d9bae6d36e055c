// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Logging
import PortolanCore

/// The `portolan_host` of one instance of a plugin, with its configuration and log.
@safe
final class HostInterface: Sendable {
    /// Returns the function table of an extension by its identifier.
    typealias Extensions = @Sendable (_ identifier: String) -> UnsafeRawPointer?

    private let table: CallbackTable<portolan_host>
    private let configuration: CStorage<Configuration>
    private let extensions: Extensions
    private let logger: Logger

    /// The values to which the table points.
    @unsafe
    private struct Configuration {
        var version = unsafe portolan_string()
        var json = unsafe portolan_string()
        var settings: UnsafePointer<portolan_property>?
        var settingCount = 0
    }

    init(_ configuration: PluginConfiguration, extensions: @escaping Extensions, logger: Logger) {
        unsafe self.extensions = unsafe extensions
        self.logger = logger
        unsafe self.configuration = unsafe CStorage { arena in
            var cConfiguration = unsafe Configuration()
            unsafe cConfiguration.version = arena.string(portolanVersion)
            unsafe cConfiguration.json = arena.string(configuration.json)
            unsafe (cConfiguration.settings, cConfiguration.settingCount) = arena.list(configuration.settings) {
                unsafe $1.property($0.name, $0.value)
            }
            return unsafe cConfiguration
        }
        let cConfiguration = unsafe self.configuration.pointer.pointee
        unsafe table = unsafe CallbackTable(
            portolan_host(
                size: UInt32(MemoryLayout<portolan_host>.size), abi_minor: PORTOLAN_ABI_MINOR, version: cConfiguration.version,
                configuration: cConfiguration.json, settings: cConfiguration.settings, setting_count: cConfiguration.settingCount,
                extension: { table, identifier in unsafe HostInterface.at(table).extensionTable(identifier.orNil) },
                log: { table, level, message in unsafe HostInterface.at(table).log(level, message) }))
        unsafe table.setObject(self)
    }

    deinit { unsafe table.deallocate() }

    var pointer: UnsafeMutablePointer<portolan_host> { unsafe table.pointer }

    private static func at(_ table: UnsafeMutablePointer<portolan_host>) -> HostInterface {
        unsafe CallbackTable.object(of: table, as: HostInterface.self).takeUnretainedValue()
    }

    private func extensionTable(_ identifier: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
        guard let identifier = unsafe identifier else { return nil }
        return unsafe extensions(String(cString: identifier))
    }

    private func log(_ level: portolan_level, _ message: portolan_string) {
        let text = unsafe Text.oneLine(message.repairedText)
        switch level {
        case PORTOLAN_LOG_ERROR: logger.error("\(text)")
        case PORTOLAN_LOG_WARNING: logger.warning("\(text)")
        case PORTOLAN_LOG_INFO: logger.info("\(text)")
        default: logger.debug("\(text)")
        }
    }
}
