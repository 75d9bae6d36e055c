// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// The parameters `etag` and `max-age`, and stored responses.
@Suite(.timeLimit(.minutes(2))) struct EchoCacheTests {
    /// The stored form of the response of `client`.
    private func stored(_ client: RecordingClient, tag: String? = nil) throws -> CachedResponse {
        var response = try #require(client.response)
        if let tag { response.fields[.eTag] = tag }
        return CachedResponse(response: response, body: .bytes(client.bytes))
    }

    @Test(arguments: [
        ("etag=v1", "\"v1\"" as String?, nil as String?), ("etag=%22v1%22", "\"v1\"", nil), ("etag=W/%22v1%22", "W/\"v1\"", nil),
        ("etag=W/v1", "\"W/v1\"", nil),
        ("etag", "\"\"", nil), ("max-age=60", nil, "max-age=60"), ("etag=v1&max-age=0", "\"v1\"", "max-age=0"),
        ("max-age=2147483648", nil, "max-age=2147483648"),
    ])
    func responseThatCanBeStoredHasItsFields(_ query: String, _ tag: String?, _ cacheControl: String?) throws {
        let client = try Echo.run("echo:text?text=Ahoy&\(query)")
        #expect(client.text == "Ahoy")
        #expect(client.storage == .allowed)
        #expect(client.response?.fields[.eTag] == tag)
        #expect(client.response?.fields[.cacheControl] == cacheControl)
    }

    @Test func otherResponsesAreNotStored() throws {
        #expect(try Echo.run("echo:text?text=Ahoy").storage == .notAllowed)
    }

    @Test(arguments: [
        "etag=%22", "etag=W/%22", "etag=%22a%22b%22", "etag=a%20b", "etag=%C3%A9", "etag=a&etag=b", "max-age=-1", "max-age=2147483649",
    ])
    func malformedValueIsABadURL(_ query: String) throws {
        #expect(try Echo.run("echo:text?\(query)").error?.code == .badURL)
    }

    @Test(arguments: ["\"v1\"", "W/\"v1\""])
    func storedResponseWithTheSameTagIsConfirmed(_ tag: String) throws {
        let url = "echo:text?text=Ahoy&etag=v1&max-age=60&field=X-A:1"
        let client = try Echo.run(url, cached: stored(Echo.run(url), tag: tag))
        #expect(client.events == [.confirmed, .finished])
        let newer = try #require(client.newerResponse)
        #expect(newer.fields[.cacheControl] == "max-age=60")
        #expect(try newer.fields[#require(HTTPField.Name("X-A"))] == "1")
    }

    @Test(arguments: ["\"v2\"", "v1", "\"v\"", "\"v10\"", "", "W/", "\""])
    func storedResponseWithAnotherTagIsReplaced(_ tag: String) throws {
        let url = "echo:text?text=Ahoy&etag=v1"
        let client = try Echo.run(url, cached: stored(Echo.run(url), tag: tag))
        #expect(client.events == [.response(4), .data(4), .finished])
        #expect(client.text == "Ahoy")
    }

    @Test func storedResponseWithoutATagIsReplaced() throws {
        let stored = try stored(Echo.run("echo:text?text=Ahoy&max-age=60"))
        #expect(try Echo.run("echo:text?text=Ahoy&max-age=60", cached: stored).text == "Ahoy")
        #expect(try Echo.run("echo:text?text=Ahoy&etag=v1", cached: stored).text == "Ahoy")
    }

    @Test func responseThatNeedsACredentialIsPrivate() throws {
        let client = RecordingClient(onChallenge: { $0.answer(.use(.password(user: "u", password: "p"))) })
        try Echo.run("echo:challenge?user=u&password=p&etag=v1&max-age=60", client)
        #expect(client.text == "Hello, u")
        #expect(client.response?.fields[.cacheControl] == "private, max-age=60")
    }

    @Test func handlerIsCacheable() throws {
        #expect(try #require(Echo.plugin.get().handlers.first).traits.contains(.cacheable))
    }
}
