// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import PortolanPlugins
import PortolanTestSupport

/// Creates a manifest that binds the fixture library, and runs loads through it.
struct BindingHarness {
    let folder: TestFolder
    let plugin: Plugin
    let log = RecordingLog()

    /// The fixture functions that the tests call, with their signatures.
    static let functions: [String: String] = [
        "bf_live_things": "int ()", "bf_live_blocks": "int ()", "bf_calls": "int ()", "bf_note": "void ()",
        "bf_int8": "int8 (int8)", "bf_uint8": "uint8 (uint8)", "bf_int16": "int16 (int16)", "bf_uint16": "uint16 (uint16)",
        "bf_int32": "int32 (int32)", "bf_uint32": "uint32 (uint32)", "bf_int64": "int64 (int64)", "bf_uint64": "uint64 (uint64)",
        "bf_size": "size (size)", "bf_ssize": "ssize (ssize)", "bf_long": "long (long)", "bf_ulong": "ulong (ulong)",
        "bf_float": "float (float)", "bf_double": "double (double)", "bf_bool": "bool (bool)",
        "bf_sum":
            "int64 (int8, uint8, int16, uint16, int32, uint32, int64, uint64, size, double, float, bool, int64, int64, int64, int64)",
        "bf_vsum": "double (cstring, ...)", "bf_lent_text": "cstring? (int)", "bf_given_text": "cstring freed by bf_free (cstring?)",
        "bf_free": "void (pointer)", "bf_long_text": "cstring freed by bf_free (size)", "bf_rows": "Row ()", "bf_empty_row": "Row ()",
        "bf_no_row": "Row? ()", "bf_packed_row": "Packed ()", "bf_hash": "uint64 (bytes data[length], size length)",
        "bf_blob": "bytes[length] freed by bf_free (int, out size length)", "bf_lent_blob": "bytes[length] (out size length)",
        "bf_absurd_blob": "bytes[length] (out size length)",
        "bf_outputs": "int (out int8, out uint16, out int64, out double, out bool, out cstring, out cstring?)",
        "bf_open": "Thing (cstring)", "bf_open_into": "int (cstring, out Thing)", "bf_close": "void (Thing)",
        "bf_open_broken": "int (out Thing, out cstring?)", "bf_open_half": "int (out Thing)",
        "bf_give_text": "int (int, out cstring? freed by bf_free)", "bf_thing_error": "cstring (Thing)", "bf_error": "cstring (int)",
        "bf_read": "ssize (Thing, buffer room[capacity] filled by result, size capacity)",
        "bf_read_into": "int (Thing, buffer room[capacity] filled by filled, uint32 capacity, out uint32 filled)",
        "bf_read_early": "int (Thing, buffer room[capacity] filled by filled, uint32 capacity, out uint32 filled)",
        "bf_next_thing": "Thing? (Thing, out cstring)",
        "bf_read_broken": "ssize (buffer room[capacity] filled by result, size capacity)",
        "bf_overfill": "ssize (buffer room[capacity] filled by result, size capacity)",
        "bf_end": "int (out bytes data[length], out size length)",
        "bf_end_below_zero": "int (out bytes data[length], out size length)",
        "bf_next": "int (Thing, out bytes data[length], out size length)", "bf_write": "int (cstring, callback write, user)",
        "bf_write_narrow": "int (callback narrow, user)", "bf_write_absurd": "int (callback write, user)",
        "bf_lend_huge": "int (out bytes data[length], out uint32 length)", "bf_write_huge": "int (callback write, user)",
        "bf_write_null": "int (callback write, user)", "bf_write_other_user": "int (callback write, user)",
        "bf_keep": "int (callback write, user)", "bf_call_kept": "int64 ()", "bf_write_elsewhere": "int (callback write, user)",
        "bf_write_forever": "int (callback write, user)", "bf_pull": "int64 (callback read, user)", "bf_wait": "int (Thing)",
        "bf_next_word": "cstring? (Thing)", "bf_next_digit": "int (Thing, out int)",
        "bf_remember_text": "void (cstring)", "bf_remembered_text": "cstring ()",
        "bf_remember_bytes": "void (bytes data[length], size length)", "bf_remembered_bytes": "bytes[length] (out size length)",
        "bf_remember_place": "void (out long)", "bf_use_place": "long (long)", "bf_set_log": "void (callback log)",
        "bf_write_log": "void (cstring, callback log)", "bf_log": "void (cstring)", "bf_log_elsewhere": "int (cstring)",
        "bf_write_and_wait": "int (Thing, callback write, user)", "bf_wake": "void (Thing)",
    ]

    static let callbacks = #"""
        {
          "write": {
            "signature": "size (bytes data[size * count], size size, size count, user)",
            "deliver": "data", "returns": "{data.length}", "stopped": 0
          },
          "read": {
            "signature": "size (buffer room[size * count], size size, size count, user)",
            "fill": "room", "returns": "{room.length}", "stopped": 1000000
          },
          "log": { "signature": "void (bytes text[length], size length)", "deliver": "text" },
          "narrow": { "signature": "int8 (user, uint8, int16, double)", "returns": -100, "stopped": 1 }
        }
        """#

    /// - Parameters:
    ///   - steps: the steps as JSON.
    ///   - more: further members of the binding, as JSON by their names.
    ///   - settings: the manifest's declarations of settings, as JSON.
    static func manifest(_ steps: String, _ more: [String: String] = [:], settings: String = "{}") -> String {
        let functions = Self.functions.sorted { $0.key < $1.key }.map { "\"\($0)\": \"\($1)\"" }.joined(separator: ", ")
        let members = ["functions": "{\(functions)}", "callbacks": callbacks, "steps": steps].merging(more) { $1 }
        let binding = members.sorted { $0.key < $1.key }.map { "\"\($0)\": \($1)" }.joined(separator: ",\n    ")
        return ManifestText.of("org.portolan.bound", scheme: "bound", more: ["binding": "{\n    \(binding)\n  }", "settings": settings])
    }

    /// Opens a plugin with the binding ``manifest(_:_:settings:)``.
    init(_ steps: String, _ more: [String: String] = [:], settings: String = "{}") throws {
        folder = try TestFolder()
        try folder.plugin("bound", Self.manifest(steps, more, settings: settings), fixture: "binding")
        let catalogue = PluginCatalogue(searching: PluginSearchPath([String]()), policy: PluginPolicy(), logger: log.logger)
        plugin = try catalogue.plugin(at: folder("bound")).open(logger: log.logger)
    }

    /// Runs one load to its end.
    func load(_ url: String = "bound://host/path", client: RecordingClient = RecordingClient()) throws -> RecordingClient {
        try load(Request(url), client: client)
    }

    func load(_ request: Request, client: RecordingClient = RecordingClient()) throws -> RecordingClient {
        let load = try TestHandlerLoad(plugin, request, client: client)
        load.run()
        plugin.waitUntilIdle()
        return client
    }

    /// Runs one load and returns its body as text.
    func text(_ url: String = "bound://host/path") throws -> String {
        String(decoding: try load(url).bytes, as: UTF8.self)
    }
}
