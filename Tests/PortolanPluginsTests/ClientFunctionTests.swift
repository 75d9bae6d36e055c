// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// Client functions that no fixture calls. Closures call them instead of a plugin.
@Suite(.timeLimit(.minutes(2))) struct ClientFunctionTests {
    private func run(
        _ plugin: InProcessPlugin, _ request: Request? = nil, cached: CachedResponse? = nil, client: RecordingClient = RecordingClient()
    ) throws -> TestHandlerLoad {
        let load = try TestHandlerLoad(plugin.handler, request ?? Request("inside:x"), cached: cached, client: client)
        load.run()
        plugin.waitUntilIdle()
        return load
    }

    private func text(_ load: TestHandlerLoad) -> String { String(decoding: load.client.bytes, as: UTF8.self) }

    private var storedResponse: CachedResponse {
        get throws { CachedResponse(response: Response(url: try URLRecord(parsing: "inside:x")), body: .text("0123456789")) }
    }

    @Test func cachedBodyIsReadFromAnyOffset() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            let client = unsafe load.client
            unsafe client.respond()
            for offset: Int64 in [7, 0, 4, 10, 400] {
                var buffer = [UInt8](repeating: 0, count: 4)
                let count = unsafe client.pointee.read_cached(client, offset, &buffer, 4)
                unsafe client.deliver(String(decoding: buffer[..<Int(count)], as: UTF8.self) + ";")
            }
            unsafe client.finish()
        })
        #expect(text(try run(plugin, cached: storedResponse)) == "789;0123;4567;;;")
        #expect(text(try run(plugin)) == ";;;;;")
    }

    @Test func cachedResponseIsConfirmed() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            unsafe load.client.pointee.cached_response_is_valid(load.client, nil)
            unsafe load.client.finish()
        })
        #expect(try run(plugin, cached: storedResponse).client.events == [.confirmed, .finished])
        #expect(try run(plugin).client.error?.rule?.id == "ORDER-10")
    }

    private static func rewindingPlugin() throws -> InProcessPlugin {
        unsafe try InProcessPlugin(run: { load in
            let client = unsafe load.client
            unsafe client.respond()
            for _ in 0..<2 {
                var buffer = [UInt8](repeating: 0, count: 100)
                let count = unsafe client.pointee.read_body(client, &buffer, 100)
                unsafe client.deliver(String(decoding: buffer[..<Int(max(0, count))], as: UTF8.self))
                unsafe client.deliver("\(client.pointee.rewind_body(client));")
            }
            unsafe client.finish()
        })
    }

    @Test func bodyThatCanBeReadTwiceIsRewound() throws {
        var request = try Request("inside:x")
        request.body = .text("body")
        #expect(text(try run(Self.rewindingPlugin(), request)) == "body1;body1;")
    }

    @Test func rewindRequestsANewBodyFromTheClient() throws {
        let firstBody = HandFedBody()
        firstBody.feed(Array("first".utf8))
        var request = try Request("inside:x")
        request.body = firstBody.body(length: nil)
        let load = try run(Self.rewindingPlugin(), request, client: RecordingClient(newBody: .text("second")))
        #expect(text(load) == "first1;second1;")
        #expect(load.client.events.contains(.newBody))
    }

    @Test func rewindFailsWithoutANewBody() throws {
        let firstBody = HandFedBody()
        firstBody.feed(Array("first".utf8))
        firstBody.finish()
        var request = try Request("inside:x")
        request.body = firstBody.body(length: nil)
        #expect(text(try run(Self.rewindingPlugin(), request)) == "first0;0;")
        #expect(text(try run(Self.rewindingPlugin())) == "0;0;")
    }

    @Test func decreasingSentTotalIsAViolation() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            unsafe load.client.pointee.did_send(load.client, 5)
            unsafe load.client.pointee.did_send(load.client, 4)
        })
        let load = try run(plugin)
        #expect(load.client.events.first == .sent(5))
        #expect(load.client.error?.rule?.id == "ORDER-09")
    }

    @Test(arguments: [150, 99, 200, 0])
    func interimResponseNeedsAStatusFrom100To199(_ status: Int32) throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            var status: Int64 = 0
            let client = unsafe load.client
            _ = unsafe client.pointee.read_cached(client, 0, &status, 8)
            var response = unsafe portolan_response()
            unsafe response.size = UInt32(MemoryLayout<portolan_response>.size)
            unsafe response.status = Int32(status)
            unsafe client.pointee.did_receive_interim(client, &response)
            unsafe client.respond()
            unsafe client.finish()
        })
        var bytes = [UInt8](repeating: 0, count: 8)
        bytes[0] = UInt8(status)
        let load = try run(plugin, cached: CachedResponse(response: storedResponse.response, body: .bytes(bytes)))
        if status == 150 {
            #expect(load.client.events == [.interim(150), .response(nil), .finished])
        } else {
            #expect(load.client.error?.code == .protocolViolation)
        }
    }

    @Test func bytesAtNULLAreAViolation() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            unsafe load.client.respond()
            _ = unsafe load.client.pointee.did_load(load.client, nil, 0)
            _ = unsafe load.client.pointee.did_load(load.client, nil, 4)
        })
        let load = try run(plugin)
        #expect(load.client.error?.rule?.id == "BODY-04")
        #expect(load.client.events.count == 2)
    }

    @Test func cancelledChallengeIsNotAnswered() throws {
        let plugin = unsafe try InProcessPlugin(
            start: { load in
                let client = unsafe load.client
                var challenge = unsafe portolan_challenge()
                unsafe challenge.size = UInt32(MemoryLayout<portolan_challenge>.size)
                unsafe challenge.method = PORTOLAN_ASK_PASSWORD
                unsafe challenge.protocol = InProcessPlugin.string("inside")
                unsafe challenge.host = InProcessPlugin.string("host")
                unsafe challenge.port = -1
                _ = unsafe client.pointee.did_receive_challenge(client, &challenge, nil)
                unsafe client.pointee.did_cancel_challenge(client)
                unsafe client.pointee.wake(client)
            },
            woken: { load in
                unsafe load.client.respond()
                unsafe load.client.finish()
            })
        let receivedChallenge = ConditionLock<AuthenticationChallenge?>(nil)
        let load = try run(plugin, client: RecordingClient(onChallenge: { challenge in receivedChallenge.withLock { $0 = challenge } }))
        receivedChallenge.withLock { $0 }?.answer(.cancel)
        #expect(load.client.events == [.challenge(failures: 0), .challengeCancelled, .response(nil), .finished])
    }

    @Test func secondChallengeWhileOneWaitsIsAViolation() throws {
        let plugin = unsafe try InProcessPlugin(start: { load in
            let client = unsafe load.client
            var challenge = unsafe portolan_challenge()
            unsafe challenge.size = UInt32(MemoryLayout<portolan_challenge>.size)
            unsafe challenge.method = PORTOLAN_ASK_SERVER_TRUST
            unsafe challenge.protocol = InProcessPlugin.string("inside")
            unsafe challenge.host = InProcessPlugin.string("host")
            for _ in 0..<2 { _ = unsafe client.pointee.did_receive_challenge(client, &challenge, nil) }
        })
        let receivedChallenge = ConditionLock<AuthenticationChallenge?>(nil)
        let load = try run(plugin, client: RecordingClient(onChallenge: { challenge in receivedChallenge.withLock { $0 = challenge } }))
        #expect(load.client.error?.rule?.id == "CHAL-01")
    }
}
