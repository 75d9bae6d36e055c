// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

/// The targets of the redirects, and their responses.
@Suite(.timeLimit(.minutes(2))) struct EchoRedirectTests {
    private static func clientFollowingRedirects() -> RecordingClient {
        RecordingClient { _, event in if case .redirect = event { .stopped } else { .keepGoing } }
    }

    @Test(arguments: [
        ("echo:redirect?to=data:,there", "data:,there", 302),
        ("echo:redirect?to=data:,a%26b%3Fc&status=307", "data:,a&b?c", 307),
        ("echo:redirect?to=echo:text?text=a&times=1", "echo:text?text=a", 302),
        ("echo:redirect?to=data:,x&times=3&status=301", "echo:redirect?to=data:,x&times=2&status=301", 301),
        ("echo:redirect?t%69mes=2&to=data:,x", "echo:redirect?times=1&to=data:,x", 302),
        ("echo:loop", "echo:loop", 302),
        ("echo:loop?status=308&wait=1", "echo:loop?status=308&wait=1", 308),
        ("echo://user:secret@host.example:81/loop", "echo://host.example:81/loop", 302),
    ])
    func redirectHasTheRequestedTargetAndStatus(_ url: String, _ target: String, _ status: Int) throws {
        let client = try Echo.run(url, Self.clientFollowingRedirects()) { $0.properties["org.example.kept"] = .integer(7) }
        #expect(client.events == [.redirect(target)])
        #expect(client.redirect?.properties["org.example.kept"] == .integer(7))
        #expect(client.redirectResponse?.status?.code == status)
        #expect(client.redirectResponse?.fields[.location] == target)
    }

    @Test func unfollowedRedirectIsDelivered() throws {
        let client = try Echo.run("echo:redirect?to=data:,x&field=X-A:b&piece=4&trailer=t:u")
        #expect(client.events == [.redirect("data:,x"), .response(7), .data(4), .data(3), .trailers, .finished])
        #expect(client.text == "data:,x")
        #expect(client.response?.status?.code == 302)
        #expect(client.response?.fields[.location] == "data:,x")
        #expect(try client.redirectResponse?.fields[#require(HTTPField.Name("X-A"))] == "b")
    }

    @Test func stepsAndInterimResponsesPrecedeTheRedirect() throws {
        let client = try Echo.run("echo:redirect?to=data:,x&interim=103&step=connected", Self.clientFollowingRedirects())
        #expect(client.events == [.step(.connected), .interim(103), .redirect("data:,x")])
    }

    @Test(arguments: [
        "", "to", "to=", "to=there", "to=/there", "to=%3A", "to=da/ta:x", "to=data:,a%20b", "to=data:,%C3%BC", "to=data:,%0A",
        "to=data:,x&times=0",
        "to=data:,x&times=10001", "to=data:,x&status=299", "to=data:,x&status=400", "to=%FF:",
    ])
    func invalidRedirectTargetIsABadURL(_ query: String) throws {
        let client = try Echo.run("echo:redirect?\(query)")
        #expect(client.error?.code == .badURL)
        #expect(client.events.count == 1)
    }

    @Test func errorMessageDoesNotQuoteTheTarget() throws {
        for target in ["u:s3cr3t@x%20y", "//u:s3cr3t@x", "u:s3cr3t@%zz"] {
            let client = try Echo.run("echo:redirect?to=\(target)")
            #expect(client.error?.code == .badURL)
            #expect(client.error?.message.contains("s3cr3t") == false)
            #expect(client.error?.message.contains("to") == true)
        }
    }
}
