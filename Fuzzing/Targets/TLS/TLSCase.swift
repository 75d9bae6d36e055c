// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanTransport

/// Tests a complete connection with an OpenSSL server, whose records a ``RecordScript`` changes in transit.
///
/// Bits of the first byte: 4: TLS 1.2; 8: the server requests a certificate; 16: it issues tickets; 32: a session is
/// resumed; 64: the client has a certificate; 128: challenge responses come late. Three bytes follow: one for the
/// certificate and the challenge responses, one for the pieces, and one for the server's steps.
struct TLSCase {
    private var settings = TLSServerSettings()
    private let resumes: Bool
    private let hasIdentity: Bool
    private let respondsLate: Bool
    private let response: TLSChallengeResponse
    private let seed: UInt8
    private let steps: [TLSServerStep]
    private let sendsData: Bool
    private let script: RecordScript

    init(_ mode: UInt8, _ source: inout ByteSource) {
        let certificateAndResponse = source.next()
        settings.kind = TLSCertificates.Kind.allCases[Int(certificateAndResponse & 15) % TLSCertificates.Kind.allCases.count]
        settings.isTLS12 = mode & 4 != 0
        settings.requestsCertificate = mode & 8 != 0
        settings.sendsTickets = mode & 16 != 0
        (resumes, hasIdentity, respondsLate) = (mode & 48 == 48, mode & 64 != 0, mode & 128 != 0)
        response = TLSChallengeResponse.allCases[Int(certificateAndResponse >> 4) % TLSChallengeResponse.allCases.count]
        seed = source.next()
        let serverStepBits = source.next()
        steps = Self.steps(serverStepBits, isTLS12: mode & 4 != 0)
        sendsData = serverStepBits & 128 != 0
        script = RecordScript(&source)
    }

    /// Bits of the byte: 3: the number of writes; 4: a large write after them; 8: a KeyUpdate, or in TLS 1.2 a
    /// HelloRequest; 16: another ticket; 32: close_notify at the end; 64: the KeyUpdate requests one from the client.
    private static func steps(_ serverStepBits: UInt8, isTLS12: Bool) -> [TLSServerStep] {
        var steps: [TLSServerStep] = []
        for number in 0..<(serverStepBits & 3) {
            steps.append(.write((0..<100).map { UInt8($0) ^ number }))
            if number == 0, serverStepBits & 8 != 0 {
                steps.append(isTLS12 ? .renegotiate : .updateKeys(isRequested: serverStepBits & 64 != 0))
            }
            if number == 1, serverStepBits & 16 != 0, !isTLS12 { steps.append(.sendTicket) }
        }
        if serverStepBits & 4 != 0 { steps.append(.write((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) })) }
        if serverStepBits & 32 != 0 { steps.append(.closeNotify) }
        return steps
    }

    func check() throws(FuzzFinding) {
        let whole = try run(nil)
        let scattered = try run(seed)
        try require(
            whole.outcome == scattered.outcome,
            "read in pieces by \(seed) the result is \(scattered.outcome), and read whole \(whole.outcome)")
        try require(
            whole.plaintext == scattered.plaintext,
            "in pieces by \(seed) \(scattered.plaintext.count) bytes were read, and \(whole.plaintext.count) bytes in one piece")
    }

    private struct Result {
        var outcome: TLSRun.Outcome
        var plaintext: [UInt8]
        var hasChanged: Bool
        var server: TLSServer
    }

    private func run(_ seed: UInt8?) throws(FuzzFinding) -> Result {
        let client = try TLSClients.context(hasIdentity: hasIdentity)
        if resumes {
            var emptySource = ByteSource([])
            _ = try connect(client, RecordScript(&emptySource), seed: nil, resumesSession: false)
        }
        return try connect(client, script, seed: seed, resumesSession: resumes)
    }

    private func connect(
        _ client: InMemoryTLS.Context, _ script: RecordScript, seed: UInt8?, resumesSession: Bool
    ) throws(FuzzFinding) -> Result {
        let hasResources: () -> Bool
        let result: Result
        do {
            let run = try TLSRun(client, response, respondsLate: respondsLate, seed: seed)
            hasResources = run.hasResources
            result = try play(run, TLSServer(TLSServerContext.with(settings), steps: steps), script)
        }
        try require(!hasResources(), "resources of the connection still exist")
        try check(result, resumesSession: resumesSession)
        return result
    }

    /// Lets client and server exchange records until both are idle, and closes the connection.
    private func play(_ run: TLSRun, _ server: TLSServer, _ script: RecordScript) throws(FuzzFinding) -> Result {
        var script = script
        var (turnCount, hasSentData) = (0, false)
        let data = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        while true {
            turnCount += 1
            try require(turnCount < 100, "client and server exchange records without end")
            if run.isSecured, sendsData, !hasSentData {
                hasSentData = true
                run.send(data)
            }
            let output = run.takeOutput()
            server.receive(output)
            let hasPlayedStep = server.proceed()
            let serverOutput = server.takeOutput()
            run.deliver(script.pass(serverOutput))
            if output.isEmpty, serverOutput.isEmpty, !hasPlayedStep { break }
        }
        run.deliver(script.finish())
        let outcome = try run.finish()
        try run.checkTrust()
        server.receive(run.takeOutput())
        _ = server.proceed()
        try require(server.received.isStart(of: data), "the server received bytes that the client did not send")
        return Result(outcome: outcome, plaintext: run.plaintext, hasChanged: script.hasChanged, server: server)
    }

    private func check(_ result: Result, resumesSession: Bool) throws(FuzzFinding) {
        try require(result.plaintext.isStart(of: result.server.sent), "the plaintext is not what the server sent")
        if case .secured(_, .closed) = result.outcome {
            let isWhole = result.server.hasSentCloseNotify && result.plaintext.count == result.server.sent.count
            try require(isWhole, "the connection was closed without the server's close_notify, after \(result.plaintext.count) bytes")
        }
        guard !result.hasChanged else { return }
        let expected = expected(resumesSession: resumesSession, result.server)
        try require(result.outcome == expected, "no record was changed, and the result is \(result.outcome) instead of \(expected)")
        if case .secured = expected {
            try require(result.plaintext.count == result.server.sent.count, "no record was changed, and bytes are missing")
        }
    }

    /// The expected result if no record is changed.
    private func expected(resumesSession: Bool, _ server: TLSServer) -> TLSRun.Outcome {
        let isAccepted: Bool
        switch response {
        case .never: return .failed(.secureConnectionFailed)
        case .reject: return .refused(.secureConnectionFailed)
        case .cancel: return .refused(.authenticationCancelled)
        case .use: isAccepted = true
        case .noHandler, .performDefault, .continueWithout: isAccepted = settings.kind.isTrusted
        }
        guard isAccepted else { return .refused(.certificateNotTrusted) }
        // If the load itself supplies the client's certificate, no other load can resume the session.
        let usesCertificateOfLoad = response == .use && settings.requestsCertificate && !hasIdentity
        let hasTicket =
            resumesSession && settings.kind != .expired && !usesCertificateOfLoad && !(settings.isTLS12 && server.hasRenegotiated)
        return .secured(isResumed: hasTicket, end: server.hasSentCloseNotify ? .closed : .failed)
    }
}
