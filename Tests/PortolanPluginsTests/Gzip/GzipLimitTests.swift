// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import Testing

@testable import PortolanPlugins

/// The limits of a gzip file's expansion, and their settings.
@Suite(.timeLimit(.minutes(2))) struct GzipLimitTests {
    /// The gzip file of one MiB of zeros. The contents are almost 157 times larger than the file.
    private static let mebibyte = GzipSample().zeros(1 << 20)

    /// Loads this many MiB of zeros in pieces of one MiB.
    private func load(mebibytes: Int, settings: String = "{}") throws -> Result<[UInt8], LoadError> {
        let harness = try GzipHarness(Array(repeating: Self.mebibyte, count: mebibytes), settings: settings)
        let result = harness.load()
        #expect(harness.violations.isEmpty)
        return result
    }

    @Test(arguments: ["{}", #"{"maximumRatio": 157}"#, #"{"maximumRatio": 0}"#])
    func expansionBelowTheRatioIsAllowed(_ settings: String) throws {
        #expect(try load(mebibytes: 18, settings: settings).error == nil)
    }

    @Test(arguments: [1, 100, 156]) func expansionAboveTheRatioFails(_ ratio: Int) throws {
        let error = try #require(load(mebibytes: 18, settings: #"{"maximumRatio": \#(ratio)}"#).error)
        #expect(error.code == .limitExceeded)
        #expect(error.message.contains("more than \(ratio) times"))
        #expect(error.message.contains("raise the setting maximumRatio"))
    }

    /// A small file with similar lines may have a high ratio.
    @Test func ratioIsCheckedOnlyAfterSixteenMebibytes() throws {
        #expect(try load(mebibytes: 16, settings: #"{"maximumRatio": 1}"#).error == nil)
    }

    @Test(arguments: [0, 3 << 20, .max]) func contentsUpToTheSizeLimitAreAllowed(_ limit: Int) throws {
        #expect(try load(mebibytes: 3, settings: #"{"maximumBytes": \#(limit)}"#).error == nil)
    }

    @Test(arguments: [1, 1 << 20, 3 << 20 - 1]) func contentsAboveTheSizeLimitFail(_ limit: Int) throws {
        let error = try #require(load(mebibytes: 3, settings: #"{"maximumBytes": \#(limit)}"#).error)
        #expect(error.code == .limitExceeded)
        #expect(error.message.contains("more than \(limit) bytes"))
        #expect(error.message.contains("raise the setting maximumBytes"))
    }

    @Test(arguments: ["maximumRatio", "maximumBytes"], ["-1", "\"200\"", "1.5", "true", "9223372036854775808"])
    func invalidLimitIsNamedInTheError(_ key: String, _ value: String) throws {
        let error = #expect(throws: LoadError.self) {
            try Fixtures.plugin("gzip", PluginConfiguration(json: #"{"\#(key)": \#(value)}"#))
        }
        #expect(error?.code == .pluginRefused)
        #expect(error.map { "\($0)" }?.contains(key) == true)
    }

    @Test func impossibleRatioIsRefused() {
        #expect(throws: LoadError.self) { try Fixtures.plugin("gzip", PluginConfiguration(json: #"{"maximumRatio": 1000001}"#)) }
    }

    @Test func pluginRefusesAHostWithoutNestedLoads() throws {
        let descriptor = try PluginDescriptor(of: SharedLibrary(at: Fixtures.path("gzip")))
        let error = #expect(throws: LoadError.self) {
            unsafe try HostedInstance(
                descriptor, configuration: PluginConfiguration(), extensions: { _ in nil }, logger: Logger(label: "tests"))
        }
        #expect(error.map { "\($0)" }?.contains("portolan.nested/1") == true)
    }
}
