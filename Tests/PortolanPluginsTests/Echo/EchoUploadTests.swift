// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// The commands that read an upload body.
@Suite(.timeLimit(.minutes(2))) struct EchoUploadTests {
    @Test(arguments: [0, 1, 65536, 200_000])
    func uploadIsEchoed(_ count: Int) throws {
        let body = Echo.pattern(0..<count)
        let client = try Echo.run("echo:upload") {
            $0.method = .put
            $0.body = .bytes(body)
            $0.fields[.contentType] = "text/csv; header=present; Charset=\"koi8-r\""
        }
        #expect(client.bytes == body)
        #expect(client.response?.expectedLength == Int64(count))
        #expect(client.response?.mimeType?.essence == "text/csv")
        #expect(client.response?.textEncodingName == "koi8-r")
        #expect(client.events.suffix(2) == [.step(.requestSent), .finished])
        if count > 0 { #expect(client.events.contains(.sent(Int64(count)))) }
    }

    @Test(arguments: ["", "text", "text/", "te xt/plain", "text/plain/x", ";", "a/b;charset=;"])
    func malformedContentTypeIsNotEchoed(_ type: String) throws {
        let client = try Echo.run("echo:upload") { $0.fields[.contentType] = type }
        #expect(client.response?.mimeType?.essence == (type == "a/b;charset=;" ? "a/b" : "application/octet-stream"))
        #expect(client.response?.textEncodingName == nil)
        #expect(client.events.last == .finished)
    }

    @Test func eachPieceIsEchoedBeforeTheNextIsRead() throws {
        let source = HandFedBody()
        let load = try Echo.start("echo:upload") { $0.body = source.body(length: nil) }
        let client = load.client
        client.wait { $0 == [.response(nil)] }
        source.feed([1, 2, 3])
        client.wait { $0.count == 3 }
        source.feed([4])
        client.wait { $0.count == 5 }
        source.finish()
        load.waitUntilEnded()
        #expect(client.events == [.response(nil), .sent(3), .data(3), .sent(4), .data(1), .step(.requestSent), .finished])
        #expect(client.bytes == [1, 2, 3, 4])
    }

    @Test func slowClientDelaysTheUpload() throws {
        let client = RecordingClient { _, event in if case .data = event { .pause } else { .keepGoing } }
        let load = try Echo.start("echo:upload?piece=2", client) { $0.body = .bytes([1, 2, 3, 4]) }
        client.wait { $0.contains(.data(2)) }
        #expect(!client.events.contains(.sent(4)))
        load.handlerLoad.resume()
        client.wait { $0.filter { $0 == .data(2) }.count == 2 }
        load.handlerLoad.resume()
        load.waitUntilEnded()
        #expect(client.bytes == [1, 2, 3, 4])
    }

    @Test(arguments: ["upload", "sink", "request"])
    func failingBodyFailsTheLoadWithItsCause(_ command: String) throws {
        let source = HandFedBody()
        source.feed([1])
        source.fail(LoadError(.ioFailed, message: "the disk went away"))
        let client = try Echo.run("echo:\(command)") { $0.body = source.body(length: 10) }
        #expect(client.error?.code == .bodyFailed)
        #expect((client.error?.underlyingError as? LoadError)?.message == "the disk went away")
    }

    @Test func sinkCommandRespondsWithTheNumberOfBytes() throws {
        let client = try Echo.run("echo:sink?piece=1000") { $0.body = .bytes(Echo.pattern(0..<2500)) }
        #expect(client.text == "2500")
        #expect(client.events.prefix(4) == [.sent(1000), .sent(2000), .sent(2500), .step(.requestSent)])
        #expect(try Echo.run("echo:sink").text == "0")
    }

    @Test func requestedStepIsReportedOnce() throws {
        let client = try Echo.run("echo:sink?step=requestSent")
        #expect(client.events.filter { $0 == .step(.requestSent) }.count == 1)
    }

    @Test func requestReportIsLimitedByTheSetting() throws {
        let plugin = try Fixtures.plugin("echo", PluginConfiguration(json: #"{"maximumEcho": 4}"#))
        #expect(try Echo.run("echo:", of: plugin) { $0.body = .text("abcd") }.text.contains(#""body":"abcd""#))
        let clientOfALargeBody = try Echo.run("echo:", of: plugin) { $0.body = .text("abcde") }
        #expect(clientOfALargeBody.error?.code == .limitExceeded)
        #expect(clientOfALargeBody.error?.message.contains("'maximumEcho'") == true)
        #expect(clientOfALargeBody.events.count == 1)
        let source = HandFedBody()
        source.feed([1, 2, 3])
        source.feed([4, 5])
        #expect(try Echo.run("echo:", of: plugin) { $0.body = source.body(length: nil) }.error?.code == .limitExceeded)
    }

    @Test func requestReportIsLimitedToAMebibyteByDefault() throws {
        let body = [UInt8](repeating: 0x61, count: 1 << 20)
        #expect(try Echo.run("echo:request") { $0.body = .bytes(body) }.events.last == .finished)
        #expect(try Echo.run("echo:request") { $0.body = .bytes(body + [1]) }.error?.code == .limitExceeded)
    }

    @Test(arguments: [#""4""#, "-1", "1073741825", "0.5", "true"])
    func invalidSettingIsNamedInTheError(_ value: String) {
        let error = #expect(throws: LoadError.self) {
            try Fixtures.plugin("echo", PluginConfiguration(json: #"{"maximumEcho": \#(value)}"#))
        }
        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("'maximumEcho'") == true)
    }

    @Test func instancesShareNoSettings() throws {
        let pluginWithASmallLimit = try Fixtures.plugin("echo", PluginConfiguration(json: #"{"maximumEcho": 0}"#))
        #expect(try Echo.run("echo:", of: pluginWithASmallLimit) { $0.body = .text("a") }.error?.code == .limitExceeded)
        #expect(try Echo.run("echo:") { $0.body = .text("a") }.events.last == .finished)
    }
}
