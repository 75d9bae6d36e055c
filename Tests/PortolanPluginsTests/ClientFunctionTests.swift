// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
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

    /// Negative offsets and offsets after the end give no bytes, and a later offset still works.
    @Test func offsetsOutsideOfTheCachedBodyGiveNothing() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            let client = unsafe load.client
            unsafe client.respond()
            for offset: Int64 in [-1, .min, 11, .max, 9, 0] {
                var buffer = [UInt8](repeating: 0, count: 3)
                let count = unsafe client.pointee.read_cached(client, offset, &buffer, 3)
                unsafe client.deliver("\(count)" + String(decoding: buffer[..<Int(max(0, count))], as: UTF8.self) + ";")
            }
            unsafe client.finish()
        })
        #expect(text(try run(plugin, cached: storedResponse)) == "0;0;0;0;19;3012;")
    }

    @Test func readOfNoCachedBytesIsAViolation() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            let client = unsafe load.client
            var byte: UInt8 = 0
            let capacity = Self.capacity.load(ordering: .sequentiallyConsistent)
            if unsafe client.pointee.read_cached(client, 0, &byte, capacity) == Int64(PORTOLAN_STOPPED.rawValue) { return }
            unsafe client.respond()
            unsafe client.finish()
        })
        for capacity in [0, -1] {
            Self.capacity.store(capacity, ordering: .sequentiallyConsistent)
            let load = try run(plugin, cached: storedResponse)
            #expect(load.client.error?.rule?.id == "BODY-04")
            #expect(load.client.events.count == 1)
        }
    }

    private static let capacity = Atomic(0)

    @Test func cachedBodyIsNotReadAfterTheEnd() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            let client = unsafe load.client
            unsafe client.pointee.cached_response_is_valid(client, nil)
            var byte: UInt8 = 0
            var count = unsafe client.pointee.read_cached(client, 4, &byte, 1)
            Self.countBeforeTheEnd.store(count, ordering: .sequentiallyConsistent)
            unsafe client.finish()
            count = unsafe client.pointee.read_cached(client, 0, &byte, 1)
            Self.countAfterTheEnd.store(count, ordering: .sequentiallyConsistent)
        })
        #expect(try run(plugin, cached: storedResponse).client.events == [.confirmed, .finished])
        #expect(Self.countBeforeTheEnd.load(ordering: .sequentiallyConsistent) == 1)
        #expect(Self.countAfterTheEnd.load(ordering: .sequentiallyConsistent) == Int64(PORTOLAN_STOPPED.rawValue))
    }

    private static let countBeforeTheEnd = Atomic<Int64>(0)
    private static let countAfterTheEnd = Atomic<Int64>(0)

    @Test func cachedBodyThatCannotBeReadFailsTheLoad() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            let client = unsafe load.client
            var byte: UInt8 = 0
            if unsafe client.pointee.read_cached(client, 0, &byte, 1) == Int64(PORTOLAN_STOPPED.rawValue) { return }
            unsafe client.respond()
            unsafe client.finish()
        })
        let body = Body(length: nil, isRewindable: true) { () throws(LoadError) in
            throw LoadError(.decodingFailed, message: "the file is damaged")
        }
        let error = try run(plugin, cached: CachedResponse(response: storedResponse.response, body: body)).client.error
        #expect(error?.code == .ioFailed)
        #expect((error?.underlyingError as? LoadError)?.code == .decodingFailed)
    }

    /// Only the fields of the newer response count, so the zeroed length does not promise an empty body.
    @Test func newerFieldsReachTheClient() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            var newer = unsafe portolan_response()
            unsafe newer.size = UInt32(MemoryLayout<portolan_response>.size)
            unsafe newer.status = 304
            var field = unsafe portolan_field(name: InProcessPlugin.string("ETag"), value: InProcessPlugin.string("\"2\""))
            unsafe withUnsafePointer(to: &field) { field in
                unsafe newer.fields = unsafe field
                unsafe newer.field_count = 1
                unsafe load.client.pointee.cached_response_is_valid(load.client, &newer)
            }
            unsafe load.client.finish()
        })
        let client = try run(plugin, cached: storedResponse).client
        #expect(client.events == [.confirmed, .finished])
        let newer = try #require(client.newerResponse)
        #expect(newer.fields[.eTag] == "\"2\"" && newer.fields.count == 1)
        #expect(newer.status?.code == 304 && newer.expectedLength == nil)
    }

    @Test func invalidNewerResponseIsAViolation() throws {
        let plugin = unsafe try InProcessPlugin(run: { load in
            let number = Self.number.load(ordering: .sequentiallyConsistent)
            var newer = unsafe portolan_response()
            unsafe newer.size = number == 0 ? 8 : UInt32(MemoryLayout<portolan_response>.size)
            if number == 1 { unsafe newer.status = 103 }
            if number == 2 { unsafe newer.field_count = 1 }
            unsafe load.client.pointee.cached_response_is_valid(load.client, &newer)
            unsafe load.client.finish()
        })
        for (number, rule) in ["DESC-05", "ORDER-13", "DESC-05"].enumerated() {
            Self.number.store(number, ordering: .sequentiallyConsistent)
            let client = try run(plugin, cached: storedResponse).client
            #expect(client.error?.rule?.id == rule)
            #expect(client.events.count == 1)
        }
    }

    private static let number = Atomic(0)

    @Test func secondAnswerToAStoredResponseIsAViolation() throws {
        let confirmingFirst = unsafe try InProcessPlugin(run: { load in
            unsafe load.client.pointee.cached_response_is_valid(load.client, nil)
            unsafe load.client.respond()
        })
        #expect(try run(confirmingFirst, cached: storedResponse).client.error?.rule?.id == "CACHE-02")
        let respondingFirst = unsafe try InProcessPlugin(run: { load in
            unsafe load.client.respond()
            unsafe load.client.pointee.cached_response_is_valid(load.client, nil)
        })
        #expect(try run(respondingFirst, cached: storedResponse).client.error?.rule?.id == "CACHE-02")
        let deliveringAfterwards = unsafe try InProcessPlugin(run: { load in
            unsafe load.client.pointee.cached_response_is_valid(load.client, nil)
            unsafe load.client.deliver("late")
        })
        #expect(try run(deliveringAfterwards, cached: storedResponse).client.error?.rule?.id == "CACHE-03")
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
