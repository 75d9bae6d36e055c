// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanHTTP

@Suite struct HTTPLoadTests {
    /// For a load that is not repeatable, the pool checks that the connection is still open before it sends the
    /// request.
    @Test(arguments: [
        (HTTPRequest.Method.get, Body?.none, true), (.put, .bytes([1]), true),
        (.put, Body.stream(AsyncStream<[UInt8]> { $0.finish() }), false), (.post, .bytes([1]), false),
    ]) func onlyALoadWhoseRequestCanBeSentAgainIsRepeatable(method: HTTPRequest.Method, body: Body?, isRepeatable: Bool) throws {
        let pools = try HTTPConnectionPools(HTTPConfiguration())
        let request = try Request("http://127.0.0.1/", method: method, body: body)
        let key = try ConnectionKey(request, proxies: pools.proxySelection)
        let load = try HTTPLoad(request, client: RecordingClient(), key: key, pools: pools)
        #expect(load.isRepeatable == isRepeatable)
    }
}
