// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanTestSupport
import Testing

@testable import PortolanCore

/// `Loader.Configuration.partitionsCacheBySite`
@Suite struct CachePartitionTests {
    /// Two pages of one site, and one of another, load the same image.
    @Test(arguments: [(true, [ResponseSource.network, .cache, .network, .network]), (false, [.network, .cache, .cache, .cache])])
    func sitesShareResponsesOnlyWithoutPartitions(_ isPartitioned: Bool, _ sources: [ResponseSource]) async throws {
        let handler = ManualHandler(schemes: .only(["http"]), traits: [.cacheable, .httpFields]) { load in
            let fields: HTTPFields = [.cacheControl: "max-age=60", .contentLength: "5"]
            _ = load.client.didReceive(Response(url: load.request.url, expectedLength: 5, status: .ok, fields: fields), storage: .allowed)
            load.deliver("image")
            load.finish()
        }
        var configuration = Loader.Configuration()
        (configuration.cache, configuration.handlers) = (ResponseCache(), [handler])
        configuration.partitionsCacheBySite = isPartitioned
        #expect(configuration.partitionsCacheBySite == isPartitioned)
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        var found: [ResponseSource] = []
        for page in ["http://www.one.example/", "http://shop.one.example/a", "http://two.example/", nil] {
            var request = try Request("http://images.example/logo")
            request.mainDocumentURL = try page.map { try URLRecord(parsing: $0) }
            let (body, response) = try await loader.data(for: request)
            #expect(String(decoding: body, as: UTF8.self) == "image")
            found.append(response.source)
        }
        #expect(found == sources)
    }
}
