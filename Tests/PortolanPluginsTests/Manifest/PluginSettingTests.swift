// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

@Suite struct PluginSettingTests {
    private static func setting(_ json: String) throws(PluginProblem) -> PluginSetting? {
        try PluginManifest(parsing: Array(ManifestText.setting(json).utf8), path: "m").settings.first
    }

    @Test(
        arguments: [
            (#"{"type": "string", "default": ""}"#, .text("")), (#"{"type": "boolean", "default": false}"#, .boolean(false)),
            (#"{"type": "integer", "default": -9223372036854775808}"#, .integer(.min)),
            (#"{"type": "integer", "default": 0x10}"#, .integer(16)),
            (#"{"type": "number", "default": 2}"#, .real(2)), (#"{"type": "number", "default": 2.5e-3}"#, .real(0.0025)),
            (#"{"type": "integer", "minimum": 1, "maximum": 1, "default": 1}"#, .integer(1)),
            (#"{"type": "number", "minimum": -0.5, "default": -0.5}"#, .real(-0.5)), (#"{"type": "number"}"#, nil),
        ] as [(String, PropertyValue?)])
    func defaultHasTheTypeOfItsSetting(json: String, value: PropertyValue?) throws {
        #expect(try Self.setting(json)?.defaultValue == value)
    }

    @Test(arguments: [
        (#"{"type": "string", "default": 1}"#, "default' is an integer, where a string is needed"),
        (#"{"type": "string", "default": null}"#, "default' is null, where a string is needed"),
        (#"{"type": "boolean", "default": "true"}"#, "default' is a string, where true or false is needed"),
        (#"{"type": "integer", "default": 1.5}"#, "default' is a number, where an integer is needed"),
        (#"{"type": "integer", "default": 9223372036854775808}"#, "default' is 9.223372036854776e+18, which does not fit in 64 bits"),
        (#"{"type": "number", "default": NaN}"#, "default' is NaN, which is not a finite double"),
        (#"{"type": "number", "default": 1e400}"#, "default' is 1e400, which is not a finite double"),
        (#"{"type": "number", "default": [1]}"#, "default' is an array, where a number is needed"),
        (#"{"type": "number", "minimum": -Infinity}"#, "minimum' is -Infinity, which is not a finite double"),
        (#"{"type": "integer", "minimum": 2, "default": 1}"#, "default' is 1, below the minimum 2"),
        (#"{"type": "number", "maximum": 2, "default": 2.5}"#, "default' is 2.5, above the maximum 2.0"),
        (#"{"type": "number", "minimum": 2, "maximum": 1}"#, "s' 'minimum' is above 'maximum'"),
        (#"{"type": "string", "minimum": 2}"#, "minimum' is only for integers and numbers, and this is a string"),
        (#"{"type": "boolean", "maximum": 2}"#, "maximum' is only for integers and numbers, and this is a boolean"),
        (#"{"type": "number", "maximum": "2"}"#, "maximum' is a string, where a number is needed"),
        (#"{"type": "string", "required": 1}"#, "required' is a number, where true or false is needed"),
        (#"{"type": "string", "description": ""}"#, "description' has to be one line of 1 to 1024 bytes"),
        ("7", "s' is a number, where an object is needed"),
    ])
    func invalidSettingIsRefused(json: String, detail: String) {
        let problem = #expect(throws: PluginProblem.self) { try Self.setting(json) }
        #expect(problem?.detail.hasSuffix(detail) == true, "\(problem?.description ?? "")")
        #expect(problem?.line == 8)
    }

    @Test(
        arguments: [
            ("string", "", .text("")), ("string", "7", .text("7")), ("integer", "-7", .integer(-7)), ("integer", "+7", .integer(7)),
            ("number", "7", .real(7)), ("number", "1e3", .real(1000)), ("boolean", "true", .boolean(true)),
            ("boolean", "false", .boolean(false)),
        ] as [(String, String, PropertyValue)])
    func textIsConvertedToTheDeclaredType(kind: String, text: String, value: PropertyValue) throws {
        #expect(try Self.setting(#"{"type": "\#(kind)"}"#)?.value(text: text) == value)
    }

    @Test(arguments: [
        ("integer", ""), ("integer", "7.0"), ("integer", "0x7"), ("integer", " 7"), ("integer", "9223372036854775808"), ("number", "nan"),
        ("number", "inf"), ("number", "1,5"), ("number", ""), ("boolean", "yes"), ("boolean", "TRUE"), ("boolean", "1"),
    ])
    func textOfAnotherTypeIsRefused(kind: String, text: String) throws {
        let setting = try #require(try Self.setting(#"{"type": "\#(kind)"}"#))
        let problem = #expect(throws: ManifestProblem.self) { try setting.value(text: text) }
        #expect(problem?.detail == "is '\(text)', where \(setting.kind.phrase) is needed")
    }

    @Test func boundsApplyToUserValues() throws {
        let setting = try #require(try Self.setting(#"{"type": "integer", "minimum": 1, "maximum": 3}"#))
        #expect(try setting.value(text: "3") == .integer(3))
        #expect(throws: ManifestProblem.self) { try setting.value(text: "4") }
        #expect(throws: ManifestProblem.self) { try setting.value(text: "0") }
    }
}
