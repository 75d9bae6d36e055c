// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanPlugins
import Testing

@testable import PortolanConformance

/// The host that a check gives to a plugin.
@Suite struct TestHostTests {
    private func request(_ identifier: String, from host: TestHost) {
        _ = unsafe host.table.pointer.pointee.extension(host.table.pointer, identifier)
    }

    /// Otherwise LEAK-01 fails a plugin whose loads request an extension, or log.
    @Test func recordGrowsWithoutLimitOnlyAfterTheEnd() throws {
        let host = try TestHost(PluginConfiguration(), offering: TestHost.allExtensions, .freely, callLog: CallLog())
        request("portolan.nested/1", from: host)
        request("org.example.first/1", from: host)
        #expect(host.calls.map(\.text) == ["portolan.nested/1", "org.example.first/1"])
        host.recordOnlyLateCalls()
        for _ in 0..<100 { request("portolan.nested/1", from: host) }
        #expect(host.calls.count == 2)
        host.end()
        request("org.example.late/1", from: host)
        #expect(host.calls.count == 3)
        #expect(host.calls.last == TestHost.Call(function: "extension", text: "org.example.late/1", isAfterEnd: true))
    }
}
