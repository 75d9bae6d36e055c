// SPDX-License-Identifier: Apache-2.0

@_spi(Fuzzing) import PortolanTransport

/// Tests a server that sends any bytes.
///
/// Bits of the first byte: 4: the client offers at most TLS 1.2; 8: the test copies the client's session ID, which no
/// input can know, to a ServerHello; 16: challenge responses come late. A byte for the challenge responses and one for
/// the pieces follow.
struct RawRecordsCase {
    private let mode: UInt8
    private let response: TLSChallengeResponse
    private let seed: UInt8
    private let bytes: [UInt8]

    init(_ mode: UInt8, _ source: inout ByteSource) {
        self.mode = mode
        response = TLSChallengeResponse.allCases[source.next(below: UInt8(TLSChallengeResponse.allCases.count))]
        seed = source.next()
        bytes = source.takeRest()
    }

    func check() throws(FuzzFinding) {
        let whole = try run(nil)
        let scattered = try run(seed)
        try require(whole == scattered, "read in pieces by \(seed) the result is \(scattered), and read whole \(whole)")
    }

    private func run(_ seed: UInt8?) throws(FuzzFinding) -> TLSRun.Outcome {
        let hasResources: () -> Bool
        let outcome: TLSRun.Outcome
        do {
            let run = try TLSRun(
                TLSClients.context(isTLS12: mode & 4 != 0), response, respondsLate: mode & 16 != 0, seed: seed)
            hasResources = run.hasResources
            run.deliver(serverBytes(run.takeOutput()))
            outcome = try run.finish()
            try run.checkTrust()
            try require(!run.isSecured, "the connection is secure with a server that has no key")
        }
        try require(!hasResources(), "resources of the connection still exist")
        return outcome
    }

    /// - Parameter hello: the record of the ClientHello. Its session ID has the same position as that of a ServerHello
    ///   (RFC 8446 §4.1.2, §4.1.3).
    private func serverBytes(_ hello: [UInt8]) -> [UInt8] {
        let sessionIDRange = 44..<76
        guard mode & 8 != 0, bytes.count >= sessionIDRange.upperBound, hello.count >= sessionIDRange.upperBound, bytes[0] == 22,
            bytes[5] == 2,
            bytes[43] == 32, hello[43] == 32
        else { return bytes }
        var changed = bytes
        changed.replaceSubrange(sessionIDRange, with: hello[sessionIDRange])
        return changed
    }
}
