// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanCore
import PortolanHTTP
import PortolanTransport
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

// The code between the two marks is an example of embedding.md.
// ---- pinning
/// Loads from a host only if its certificate has one of these keys.
final class PinnedKeys: LoadDelegate {
    private let host: String
    private let keys: Set<[UInt8]>  // ServerCertificate.publicKey of the current certificate and of the next one

    init(host: String, keys: Set<[UInt8]>) {
        self.host = host
        self.keys = keys
    }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        guard case .serverTrust(let chain) = challenge.protectionSpace.kind, challenge.protectionSpace.host == host else {
            return challenge.answer(.performDefault)
        }
        let key = chain.first.flatMap(ServerCertificate.init(der:))?.publicKey
        challenge.answer(key.map(keys.contains) ?? false ? .performDefault : .rejectProtectionSpace)
    }
}
// ---- pinning

/// The example of embedding.md.
@Suite(.timeLimit(.minutes(10))) struct PinningTests {
    @Test func onlyAPinnedKeyIsAccepted() async throws {
        let server = try await SecureServer("good")
        let fixture = try SecureLoaderFixture()
        let key = try #require(ServerCertificate(der: try certificates().der("good"))).publicKey
        let otherKey = try #require(ServerCertificate(der: try certificates().der("self"))).publicKey
        for (keys, expectedText) in [([key, otherKey] as Set, "hello"), ([otherKey], nil)] {
            do throws(LoadError) {
                let (body, _) = try await fixture.loader.data(for: Request(server.url), delegate: PinnedKeys(host: "127.0.0.1", keys: keys))
                #expect(String(decoding: body, as: UTF8.self) == expectedText)
            } catch {
                #expect(expectedText == nil)
                #expect(error.message.contains("this program's own check rejected the certificate"))
            }
        }
        try await server.stop()
    }

    @Test func aPinnedKeyDoesNotReplaceTheVerification() async throws {
        let server = try await SecureServer("expired")
        let key = try #require(ServerCertificate(der: try certificates().der("expired"))).publicKey
        await #expect(throws: LoadError.self) {
            try await SecureLoaderFixture().loader.data(for: Request(server.url), delegate: PinnedKeys(host: "127.0.0.1", keys: [key]))
        }
        #expect(server.count(.requestBegan) == 0)
        try await server.stop()
    }

    @Test func documentContainsTheCompiledExample() throws {
        let thisFile = URL(fileURLWithPath: #filePath)
        let package = (0..<4).reduce(thisFile) { folder, _ in folder.deletingLastPathComponent() }
        let document = try String(
            contentsOf: package.appendingPathComponent("Sources/Portolan/Portolan.docc/embedding.md"), encoding: .utf8)
        let source = try String(contentsOf: thisFile, encoding: .utf8)
        let example = source.components(separatedBy: "// ---- pinning\n")
        try #require(example.count == 3)
        #expect(document.contains("```swift\n" + example[1] + "```"))
    }
}
