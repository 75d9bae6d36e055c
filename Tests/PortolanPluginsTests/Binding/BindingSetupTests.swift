// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// A library can keep pointers to the values of its `setup`, so the host never frees these values.
@Suite(.timeLimit(.minutes(2))) struct BindingSetupTests {
    private static let text = "a text that setup hands over, and that is longer than what an allocator writes into freed memory"
    private static let setup = """
        [{"call": "bf_remember_text", "with": ["{setting:text}"]}, {"call": "bf_remember_bytes", "with": ["{setting:text}"]},
         {"call": "bf_remember_place", "with": ["place"]}, {"call": "bf_set_log"}]
        """
    private static let steps = """
        [{"call": "bf_use_place", "with": [77], "check": {"equals": 77}},
         {"call": "bf_remembered_text", "result": "text"}, {"call": "bf_remembered_bytes", "result": "bytes"},
         {"call": "bf_write_log", "with": ["own "]}, {"call": "bf_log", "with": ["late "]},
         {"call": "bf_log_elsewhere", "with": ["elsewhere "], "check": {"equals": 0}}, {"deliver": "{text} and "}, {"deliver": "{bytes}"}]
        """
    private static let settings = #"{"text": {"type": "string", "default": "\#(text)"}}"#
    private static let expectedBody = "own \(text) and \(text)"

    @Test("Values that setup passes stay valid in every load") func setupValuesAreValidInEveryLoad() throws {
        let harness = try BindingHarness(Self.steps, ["setup": Self.setup], settings: Self.settings)
        for _ in 0..<3 { #expect(try harness.text() == Self.expectedBody) }
    }

    @Test("A callback that setup passes delivers to no load, and its late calls are reported once") func callbackFromSetupDeliversToNoLoad()
        throws
    {
        let harness = try BindingHarness(
            #"[{"call": "bf_log", "with": ["late "]}, {"call": "bf_write_log", "with": ["own "]}, {"call": "bf_log", "with": ["late "]}]"#,
            ["setup": #"[{"call": "bf_set_log"}, {"call": "bf_log", "with": ["to nobody"]}]"#])
        for _ in 0..<3 { #expect(try harness.text() == "own ") }
        #expect(harness.log.all.filter { $0.contains("the callback 'log' was called after the end of its load") }.count == 1)
    }

    @Test("Values that setup passed outlive the plugin") func setupValuesOutliveTheirPlugin() throws {
        let folder = try TestFolder()
        try folder.plugin("bound", BindingHarness.manifest(Self.steps, ["setup": Self.setup], settings: Self.settings), fixture: "binding")
        // A second plugin with the same library, without `setup`.
        let otherManifest = BindingHarness.manifest(Self.steps).replacing("org.portolan.bound", with: "org.portolan.other")
        try folder.file("bound/other.plugin.json", otherManifest)
        let catalogue = PluginCatalogue(searching: PluginSearchPath([String]()), policy: PluginPolicy())
        _ = try catalogue.plugin(at: folder("bound")).open()
        let plugin = try catalogue.plugin(at: folder("bound/other.plugin.json")).open()
        let load = try TestHandlerLoad(plugin, Request("bound:x"), client: RecordingClient())
        load.run()
        plugin.waitUntilIdle()
        #expect(String(decoding: load.client.bytes, as: UTF8.self) == Self.expectedBody)
    }

    @Test("Values that a failed setup passed stay valid") func failedSetupKeepsItsValuesValid() throws {
        let folder = try TestFolder()
        let failingSetup = Self.setup.dropLast() + #", {"call": "bf_int8", "with": [1], "check": {"equals": 1}}]"#
        try folder.plugin(
            "bound", BindingHarness.manifest(Self.steps, ["setup": String(failingSetup)], settings: Self.settings), fixture: "binding")
        try folder.file(
            "bound/other.plugin.json", BindingHarness.manifest(Self.steps).replacing("org.portolan.bound", with: "org.portolan.other"))
        let catalogue = PluginCatalogue(searching: PluginSearchPath([String]()), policy: PluginPolicy())
        #expect(throws: LoadError.self) { try catalogue.plugin(at: folder("bound")).open() }
        let plugin = try catalogue.plugin(at: folder("bound/other.plugin.json")).open()
        let load = try TestHandlerLoad(plugin, Request("bound:x"), client: RecordingClient())
        load.run()
        plugin.waitUntilIdle()
        #expect(String(decoding: load.client.bytes, as: UTF8.self) == Self.expectedBody)
    }
}
