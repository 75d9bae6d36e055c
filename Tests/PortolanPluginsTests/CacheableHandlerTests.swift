// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Testing

@testable import PortolanPlugins

/// The flag PORTOLAN_CACHEABLE.
@Suite struct CacheableHandlerTests {
    @Test func handlerOfTheSwiftKitCanBeCacheable() throws {
        guard let entry = unsafe PluginKitTestHandler.entry(contractMajor: PORTOLAN_ABI_MAJOR) else {
            Issue.record("the kit gives no descriptor")
            return
        }
        let descriptor = unsafe try PluginDescriptor(entry.pointee)
        #expect(descriptor.handlers.map { $0.traits.contains(.cacheable) } == [true])
    }

    @Test func handlerWithoutTheFlagIsNotCacheable() throws {
        let handler = try #require(Plugin(contentsOf: Fixtures.path("carrier")).handlers.first)
        #expect(!handler.traits.contains(.cacheable))
    }

    /// The fixture `descriptor-any_scheme` sets PORTOLAN_CACHEABLE, too.
    @Test func handlerOfAnySchemeIsNotCacheable() throws {
        let handler = try #require(Plugin(contentsOf: Fixtures.path("descriptor-any_scheme")).handlers.first)
        #expect(handler.schemes == .any && !handler.traits.contains(.cacheable))
    }
}
