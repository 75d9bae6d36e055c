// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Which credentials a load proposes, stores and removes.
@Suite struct ProposedCredentialTests {
    private static let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h", port: 1, realm: "r")

    /// A handler that sends challenges until the password is "good", and then responds with `status`. Without a
    /// credential, it responds with 401, like HTTP.
    private static func handler(status: Int = 200) -> ManualHandler {
        ManualHandler { load in sendChallenge(load, failureCount: 0, status) }
    }

    private static func sendChallenge(_ load: ManualLoad, failureCount: Int, _ status: Int) {
        load.client.didReceive(
            AuthenticationChallenge(protectionSpace: space, previousFailureCount: failureCount) { answer in
                switch answer {
                case .use(.password(_, "good", _)): respond(load, status)
                case .use: sendChallenge(load, failureCount: failureCount + 1, status)
                default: respond(load, 401)
                }
            })
    }

    private static func respond(_ load: ManualLoad, _ code: Int) {
        _ = load.client.didReceive(Response(url: load.request.url, status: .init(code: code)), storage: .notAllowed)
        load.deliver("\(code)")
        load.finish()
    }

    private static func credential(_ user: String, _ password: String, _ persistence: Credential.Persistence = .none) -> Credential {
        .password(user: user, password: password, persistence: persistence)
    }

    /// Loads a URL, and returns the user of the proposed credential of each challenge. The delegate gives the `answers`
    /// in order, and answers further challenges with `performDefault`.
    private static func load(
        _ storage: CredentialStorage?, url: String = "x://h:1/", netrc: String? = nil, answers: [ChallengeAnswer] = [],
        handler: ManualHandler = handler()
    ) throws -> (proposed: [String?], delegate: RecordingDelegate) {
        let proposed = Mutex<[String?]>([])
        let delegate = RecordingDelegate(onChallenge: { challenge in
            let user: String? = if case .password(let user, _, _)? = challenge.proposedCredential { user } else { nil }
            let number = proposed.withLock { proposed in
                proposed.append(user)
                return proposed.count - 1
            }
            challenge.answer(number < answers.count ? answers[number] : .performDefault)
        })
        let file = try netrc.map { try NetrcFile(parsing: Array($0.utf8)) }
        let loader = loader(handler) { configuration in
            configuration.credentials = storage
            configuration.netrc = file
        }
        loader.task(for: try Request(url), delegate: delegate).resume()
        return (proposed.withLock { $0 }, delegate)
    }

    @Test("The user information of the URL is used without the delegate; then the storage is proposed, then the netrc file")
    func credentialSourcesHaveAnOrder() throws {
        let storage = CredentialStorage()
        storage.set(Self.credential("stored", "bad", .loader), for: Self.space)
        let (proposed, delegate) = try Self.load(storage, url: "x://url:bad@h:1/", netrc: "machine h login netrc password good")
        #expect(proposed == ["stored", "netrc"])
        #expect(delegate.text == "200")
    }

    @Test("A refused credential is not proposed again, and is removed from the storage")
    func refusedCredentialIsRemovedFromTheStorage() throws {
        let storage = CredentialStorage()
        storage.set(Self.credential("stored", "bad", .permanent), for: Self.space)
        let (proposed, delegate) = try Self.load(storage)
        #expect(proposed == ["stored", nil])
        #expect(delegate.text == "401")
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("A credential of the delegate is stored after it was accepted, and not before")
    func credentialIsStoredAfterItsAcceptance() throws {
        for (persistence, isStored) in [(Credential.Persistence.none, false), (.loader, true), (.permanent, true)] {
            let storage = CredentialStorage()
            let wrongCredential = Self.credential("ann", "bad", persistence)
            let acceptedCredential = Self.credential("ann", "good", persistence)
            let storedChanges = Mutex<[CredentialStorage.Change]>([])
            let observation = storage.observe { changes in storedChanges.withLock { $0 += changes } }
            let (proposed, delegate) = try Self.load(storage, answers: [.use(wrongCredential), .use(acceptedCredential)])
            withExtendedLifetime(observation) {}
            #expect(proposed == [nil, nil] && delegate.text == "200")
            #expect(storage.defaultCredential(for: Self.space) == (isStored ? acceptedCredential : nil))
            let changes: [CredentialStorage.Change] = [
                .set(acceptedCredential, for: Self.space), .madeDefault(acceptedCredential, for: Self.space),
            ]
            #expect(storedChanges.withLock { $0 } == (isStored ? changes : []))
        }
    }

    @Test("A credential is not stored if the load ends without a response that accepts it", arguments: [401, 407])
    func credentialRefusedByTheResponse(status: Int) throws {
        let storage = CredentialStorage()
        let handler = Self.handler(status: status)
        _ = try Self.load(storage, answers: [.use(Self.credential("ann", "good", .loader))], handler: handler)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("A loader without a storage proposes nothing and stores nothing")
    func loaderWithoutStorageProposesNoCredential() throws {
        let (proposed, delegate) = try Self.load(nil, answers: [.use(Self.credential("ann", "good", .loader))])
        #expect(proposed == [nil] && delegate.text == "200")
        #expect(CredentialStorage.shared.credentials(for: Self.space).isEmpty)
    }

    @Test("After a redirect from https: to http:, no password of the netrc file is proposed")
    func netrcPasswordIsNotProposedAfterARedirectToHTTP() throws {
        let target = try URLRecord(parsing: "http://h/")
        let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "http", host: "h", port: 80, realm: "r")
        let handler = ManualHandler { load in
            guard load.request.url.scheme == "http" else {
                _ = load.redirect(to: target)
                return
            }
            load.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in Self.respond(load, 200) })
        }
        let netrc = "machine h login a password good"
        #expect(try Self.load(nil, url: "http://h/", netrc: netrc, handler: handler).proposed == ["a"])
        #expect(try Self.load(nil, url: "https://h/", netrc: netrc, handler: handler).proposed == [nil])
    }

    @Test(
        "A user name with a colon in the URL or in the netrc file is not sent by Basic; the challenge goes on",
        arguments: [
            ("x://a%3Ab:good@h:1/", nil, nil, "401"), ("x://a%3Ab:good@h:1/", "machine h login n password good", "n", "200"),
            ("x://h:1/", "machine h login a:b password good", nil, "401"), ("x://a:go%0Dod@h:1/", nil, nil, "401"),
        ] as [(String, String?, String?, String)])
    func colonInTheURLOrTheNetrcFile(url: String, netrc: String?, proposed: String?, status: String) throws {
        let result = try Self.load(nil, url: url, netrc: netrc)
        #expect(result.proposed == [proposed] && result.delegate.text == status)
    }

    @Test("A stored user name with a colon is proposed to Digest only, RFC 7617 §2", arguments: ["basic", "Basic", "digest"])
    func colonInTheUserName(scheme: String) throws {
        let storage = CredentialStorage()
        var space = Self.space
        space.kind = .password(scheme: scheme)
        storage.set(Self.credential("a:b", "good", .loader), for: space)
        let handler = ManualHandler { [space] load in
            load.client.didReceive(
                AuthenticationChallenge(protectionSpace: space) { answer in
                    if case .use = answer { Self.respond(load, 200) } else { Self.respond(load, 401) }
                })
        }
        let (proposed, delegate) = try Self.load(storage, handler: handler)
        #expect(proposed == [scheme == "digest" ? "a:b" : nil])
        #expect(delegate.text == (scheme == "digest" ? "200" : "401"))
        #expect(storage.defaultCredential(for: space) != nil)
    }

    @Test(
        "A netrc password follows a redirect within its host only to the same port, or from http: to https:",
        arguments: [
            ("http://h/", "http://h/b", true), ("http://h/", "http://h:81/", false), ("https://h:81/", "https://h/", false),
            ("http://h/", "https://h/", true), ("http://h:81/", "https://h:81/", true), ("http://h:81/", "https://h/", false),
            ("http://i/", "http://h:81/", true),
        ])
    func netrcAfterARedirect(from: String, to: String, isProposed: Bool) throws {
        let user = try Self.proposedUser(from: from, to: to, netrc: "machine h login a password good")
        #expect(user == (isProposed ? "a" : nil))
    }

    @Test(
        "After a redirect, a netrc entry that names the port of the target is proposed",
        arguments: [
            ("http://h/", "http://h:81/", "machine h port 81 login p password good", "p"),
            ("http://h/", "http://h:81/", "machine h login a password x machine h port 81 login p password good", "p"),
            ("http://h/", "http://h:81/", "machine h port 82 login p password good", nil),
            ("http://h:81/", "http://h/", "default port 80 login p password good", "p"),
            ("https://h:82/", "https://h/", "machine h port 443 login p password good", "p"),
            ("http://h/", "https://h:81/", "machine h port 81 login p password good", "p"),
            ("https://h/", "http://h:81/", "machine h port 81 login p password good", nil),
        ] as [(String, String, String, String?)])
    func netrcEntryWithAPortAfterARedirect(from: String, to: String, netrc: String, user: String?) throws {
        #expect(try Self.proposedUser(from: from, to: to, netrc: netrc) == user)
    }

    /// The user of the credential that is proposed after a redirect from one URL to another.
    private static func proposedUser(from: String, to: String, netrc: String) throws -> String? {
        let target = try URLRecord(parsing: to)
        let space = ProtectionSpace(
            kind: .password(scheme: "basic"), protocolName: String(target.scheme), host: "h", port: target.effectivePort, realm: "r")
        let handler = ManualHandler { load in
            guard load.request.url == target else {
                _ = load.redirect(to: target)
                return
            }
            load.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in Self.respond(load, 200) })
        }
        let (proposed, _) = try load(nil, url: from, netrc: netrc, handler: handler)
        try #require(proposed.count == 1)
        return proposed[0]
    }

    @Test("A netrc file has no passwords for proxies and other hosts")
    func netrcPasswordIsNotProposedToOtherHosts() throws {
        let (proposed, _) = try Self.load(nil, netrc: "machine i login a password good")
        #expect(proposed == [nil])
        let handler = ManualHandler { load in
            var space = Self.space
            space.isProxy = true
            load.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in Self.respond(load, 407) })
        }
        #expect(try Self.load(nil, netrc: "machine h login a password good", handler: handler).proposed == [nil])
    }
}
