// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanTransport

/// How the client's challenges are answered.
enum TLSAnswer: Int, CaseIterable {
    /// Nobody is asked.
    case nobody
    case performDefault, use, continueWithout, reject, cancel
    case never

    func answer(to challenge: AuthenticationChallenge) {
        switch self {
        case .nobody, .performDefault: challenge.answer(.performDefault)
        case .continueWithout: challenge.answer(.continueWithout)
        case .reject: challenge.answer(.rejectProtectionSpace)
        case .cancel: challenge.answer(.cancel)
        case .never: break
        case .use:
            if case .serverTrust = challenge.protectionSpace.kind {
                challenge.answer(.use(.serverTrust))
            } else {
                challenge.answer(.use(.certificate(chain: TLSCertificates.Kind.good.chain, privateKey: TLSCertificates.leafKey)))
            }
        }
    }
}

/// A connection of the client, fed with a server's bytes in one way, and what came of it.
final class TLSRun {
    /// How the handshake ended.
    enum Outcome: Equatable {
        case secured(isResumed: Bool, end: End)
        case failed(LoadError.Code)
        case refused(LoadError.Code)
    }

    /// Without the words, which may depend on when the bytes came.
    enum End: Equatable { case closed, failed }

    private let client: InMemoryTLS
    private let asked = Asked()
    private let answer: TLSAnswer
    private let isLate: Bool
    /// `nil`: whole.
    private let seed: UInt8?

    /// What the client asked, and has no answer for yet.
    private final class Asked {
        var pending: AuthenticationChallenge?
        /// The chains that default handling would trust.
        var trusted: [[[UInt8]]] = []
        var errors: [LoadError] = []
    }

    init(_ context: InMemoryTLS.Context, _ answer: TLSAnswer, isLate: Bool, seed: UInt8?) throws(Finding) {
        (self.answer, self.isLate, self.seed) = (answer, isLate, seed)
        do throws(LoadError) {
            client = try InMemoryTLS(
                context, host: TLSCertificates.host,
                ask: answer == .nobody
                    ? nil
                    : { [asked] challenge in
                        if case .serverTrust(let chain) = challenge.protectionSpace.kind {
                            if let error = challenge.previousError { asked.errors.append(error) } else { asked.trusted.append(chain) }
                        }
                        if isLate || answer == .never { asked.pending = challenge } else { answer.answer(to: challenge) }
                    })
        } catch {
            throw Finding("the client can't begin: \(error)")
        }
    }

    var plaintext: [UInt8] { client.plaintext }
    var isSecured: Bool { if case .secured? = client.outcomes.last { true } else { false } }
    func takeOutput() -> [UInt8] { client.takeOutput() }
    func send(_ bytes: [UInt8]) { client.send(bytes) }

    /// - Parameter bytes: of the server, which come in pieces that the seed scatters.
    func deliver(_ bytes: [UInt8]) {
        guard let seed else {
            if !bytes.isEmpty { client.receive(bytes) }
            return answerLate()
        }
        var (rest, state) = (bytes[...], UInt32(seed))
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let scatter = bytes.count > 4096 ? 4096 : Int(seed) + 1
            let piece = rest.prefix(seed == 0 && bytes.count <= 4096 ? 1 : 1 + Int(state >> 16) % scatter)
            client.receive(Array(piece))
            rest = rest.dropFirst(piece.count)
            if state >> 31 == 0 { answerLate() }
        }
        answerLate()
    }

    private func answerLate() {
        while isLate, answer != .never, let challenge = asked.pending {
            asked.pending = nil
            answer.answer(to: challenge)
            client.proceed()
        }
    }

    /// The server closes the connection.
    ///
    /// - Returns: how it all ended.
    func finish() throws(Finding) -> Outcome {
        client.close()
        answerLate()
        client.shutDown()
        let plaintext = client.plaintext
        // Nothing comes after the end.
        client.receive([21, 3, 3, 0, 2, 1, 0])
        client.close()
        asked.pending = nil
        try require(client.plaintext == plaintext, "plaintext came after the end")
        try require(client.outcomes.count == 1, "the handshake ended \(client.outcomes.count) times")
        for error in asked.errors { try judge(error) }
        switch client.outcomes[0] {
        case .secured(_, _, let isResumed, let chain, let verdict):
            try require(answer != .never, "it is secure, and was not allowed")
            try require(verdict != nil || Self.isTrusted(chain), "a chain that nobody issued is trusted")
            try require(verdict == nil || answer == .use, "a chain without trust was accepted")
            guard let end = client.end else { throw Finding("the connection did not end") }
            return .secured(isResumed: isResumed, end: end == .closed ? .closed : .failed)
        case .failed(let error):
            try judge(error)
            return .failed(error.code)
        case .refused(let error):
            try judge(error)
            return .refused(error.code)
        }
    }

    /// Chains may have more certificates than are needed: what the server is known by is the leaf.
    private static func isTrusted(_ chain: [[UInt8]]) -> Bool {
        TLSCertificates.Kind.allCases.contains { $0.isTrusted && $0.chain.first == chain.first }
    }

    /// Whether default handling would have trusted a chain that it must not.
    func judgeTrust() throws(Finding) {
        for chain in asked.trusted { try require(Self.isTrusted(chain), "a chain that nobody issued would be trusted") }
    }

    /// What servers say reaches messages as one line that is not long.
    private func judge(_ error: LoadError) throws(Finding) { try TLSRun.judge(message: error.message) }

    static func judge(message: String) throws(Finding) {
        try require(!message.isEmpty && message.unicodeScalars.count < 1500, "a message has \(message.unicodeScalars.count) characters")
        let isLine = message.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0.value != 0x2028 }
        try require(isLine, "a message has control characters: \(message.debugDescription)")
    }

    /// Tells whether anything is still there, when the run is gone.
    var remains: () -> Bool { client.remains }
}

/// The client's settings, made once in a process.
enum TLSClients {
    private static let made: [Result<InMemoryTLS.Context, LoadError>] = (0..<4).map { number in
        var settings = TLSSettings()
        settings.trustRoots = .only([.der(TLSCertificates.root)])
        if number & 1 != 0 { settings.maximumVersion = .tls12 }
        if number & 2 != 0 {
            settings.identity = ClientIdentity(chain: TLSCertificates.Kind.good.chain, privateKey: TLSCertificates.leafKey)
        }
        do throws(LoadError) { return .success(try InMemoryTLS.Context(settings, offering: ["h2", "http/1.1"])) } catch {
            return .failure(error)
        }
    }

    /// Without tickets of earlier cases.
    static func context(isTLS12: Bool = false, hasIdentity: Bool = false) throws(Finding) -> InMemoryTLS.Context {
        do throws(LoadError) {
            let context = try made[(isTLS12 ? 1 : 0) + (hasIdentity ? 2 : 0)].get()
            context.removeTickets(host: TLSCertificates.host)
            return context
        } catch {
            throw Finding("the client has no context: \(error)")
        }
    }
}
