// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// The requirements for a plugin's library, which the host checks before it uses the library.
@Suite(.timeLimit(.minutes(2))) struct LibraryTests {
    @Test(arguments: [
        ("missing_symbol", "DESC-01"), ("no_entry", "DESC-02"), ("wrong_major", "DESC-04"), ("other_abi_field", "DESC-04"),
        ("zero_size", "DESC-05"), ("short_plugin", "DESC-05"), ("short_handler", "DESC-05"), ("short_loads", "DESC-05"),
        ("null_make", "DESC-05"), ("null_loads", "DESC-05"), ("null_destroy", "DESC-05"), ("no_style", "DESC-05"),
        ("both_styles", "DESC-05"), ("half_style", "DESC-05"), ("no_handlers", "DESC-05"), ("null_handlers", "DESC-05"),
        ("null_handler", "DESC-05"), ("bad_identifier", "DESC-06"), ("identifier_not_utf8", "DESC-06"),
        ("absent_identifier", "DESC-06"), ("long_identifier", "DESC-06"), ("bad_scheme", "DESC-08"), ("upper_scheme", "DESC-08"),
        ("twice_scheme", "DESC-08"), ("empty_scheme", "DESC-08"), ("no_schemes", "DESC-08"), ("null_schemes", "DESC-08"),
    ])
    func invalidLibraryIsRefusedWithTheRule(_ name: String, _ rule: String) throws {
        let error = #expect(throws: LoadError.self) { try Fixtures.plugin("descriptor-\(name)") }
        #expect(error?.code == .pluginNotLoadable)
        expectOneLine(error, startsWith: "\(rule): ", contains: "descriptor-\(name).so")
    }

    @Test func pluginHasTheValuesOfItsDescriptor() throws {
        let plugin = try Fixtures.plugin("descriptor")
        #expect(plugin.identifier == "org.portolan.variant")
        #expect(plugin.name == "Variant")
        #expect(plugin.vendor == "The Portolan authors")
        #expect(plugin.version == "1.0.0")
        #expect(plugin.handlers.map(\.identifier) == ["org.portolan.variant"])
        #expect(plugin.handlers.map(\.schemes) == [.only(["variant"])])
        #expect(plugin.handlers.map(\.traits) == [.blocking])
    }

    @Test("The deepest accepted configuration fits the stack of a load's thread", arguments: [129, 130, 1_000_000])
    func deepestConfigurationFitsTheStackOfALoadThread(_ depth: Int) throws {
        let text = String(repeating: #"{"a":"#, count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
        let outcome = ConditionLock<LoadError.Code??>(nil)
        // AddressSanitizer makes stack frames several times larger.
        let isSanitized = ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil
        try PlatformThread.start(stackSize: isSanitized ? 4 << 20 : 512 << 10) {
            do throws(LoadError) {
                _ = try PluginConfiguration(json: text)
                outcome.withLockBroadcasting { $0 = .some(nil) }
            } catch {
                outcome.withLockBroadcasting { $0 = error.code }
            }
        }
        #expect(outcome.wait { $0 } == (depth <= 129 ? nil : .badRequest))
    }

    @Test func missingFileIsReported() {
        let error = #expect(throws: LoadError.self) { try Plugin(contentsOf: "/nonexistent/plugin.so") }
        expectOneLine(error, startsWith: "DESC-01: ", contains: "/nonexistent/plugin.so")
        #expect(error?.message.contains("No such file") == true)
    }

    @Test func folderIsNotALibrary() {
        let error = #expect(throws: LoadError.self) { try Plugin(contentsOf: Fixtures.folder) }
        expectOneLine(error, startsWith: "DESC-01: ", contains: Fixtures.folder)
    }

    @Test func textFileIsNotALibrary() {
        let error = #expect(throws: LoadError.self) { try Plugin(contentsOf: #filePath) }
        expectOneLine(error, startsWith: "DESC-01: ", contains: #filePath)
        #expect(error?.message.contains("not a shared library") == true)
    }

    @Test(arguments: [(18, [UInt8](arrayLiteral: 243, 0), "riscv"), (4, [1], "32 bits"), (5, [2], "big-endian")])
    func libraryForAnotherArchitectureIsReported(_ offset: Int, _ bytes: [UInt8], _ architecture: String) throws {
        let path = try Fixtures.copyWithChangedBytes("descriptor", at: offset, to: bytes)
        defer { try? FileManager.default.removeItem(atPath: path) }  // because this only cleans up
        let error = #expect(throws: LoadError.self) { try Plugin(contentsOf: path) }
        expectOneLine(error, startsWith: "DESC-01: ", contains: path)
        #expect(error?.message.contains(architecture) == true)
        #expect(error?.message.contains("64 bits") == true)
    }

    @Test func refusalOfInitHasThePluginsMessage() {
        let error = #expect(throws: LoadError.self) { try Fixtures.plugin("descriptor-refuses_init") }
        #expect(error?.code == .pluginRefused)
        #expect((error?.underlyingError as? LoadError)?.code == .notOffered)
        expectOneLine(error, startsWith: "the plugin org.portolan.variant", contains: "no tide today: wait for one")
    }

    @Test(arguments: [
        ("refuses_make", LoadError.Code.accessDenied, "not on a Sunday"), ("refuses_silently", .protocolViolation, "ORDER-11"),
    ])
    func refusalOfMakeFailsTheLoad(_ name: String, _ code: LoadError.Code, _ text: String) throws {
        let plugin = try Fixtures.plugin("descriptor-\(name)")
        let load = try TestHandlerLoad(plugin, "variant:x")
        load.run()
        #expect(load.client.error?.code == code)
        #expect(load.client.error?.message.contains(text) == true)
    }

    @Test func twoInstancesOfOneLibraryAreIndependent() throws {
        let first = try Fixtures.plugin("template", PluginConfiguration(json: #"{"greeting": "Ahoy"}"#))
        let second = try Fixtures.plugin("template")
        for (plugin, greeting) in [(first, "Ahoy, sea!\n"), (second, "Hello, sea!\n")] {
            let load = try TestHandlerLoad(plugin, "template://greet/sea")
            load.run()
            #expect(String(decoding: load.client.bytes, as: UTF8.self) == greeting)
        }
    }

    private func expectOneLine(_ error: LoadError?, startsWith start: String, contains part: String) {
        let message = error?.message ?? ""
        #expect(message.hasPrefix(start), "\(message)")
        #expect(message.contains(part), "\(message)")
        #expect(!message.contains("\n"))
    }
}
