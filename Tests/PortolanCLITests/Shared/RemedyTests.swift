// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import Testing

@testable import PortolanCLI

/// In the messages of the command, a remedy names options of the command instead of properties of the API.
@Suite struct RemedyTests {
    private static let remedies: [LoadError.Remedy] = [
        .trustCertificate, .trustAuthority, .nameTrustRoots, .giveClientCertificate, .changeClientCertificate, .nameKeyFile,
        .givePassphrase, .checkPassphrase, .allowTLSVersions, .useHTTP1, .giveProxyPassword, .raiseConnectTimeout, .raiseTimeout,
        .sendRepeatableBody, .nameProxy, .raiseLimit("HTTPLimits.maximumFieldLineBytes"),
        .raiseDecodingLimit("ContentDecodingLimits.maximumBytes"), .openMoreConnections(orWait: false), .openMoreConnections(orWait: true),
        .shareNoConnection(orWait: false), .shareNoConnection(orWait: true), .usePlainHTTP, .raiseMaximumBodySize, .removeStrictHost("h"),
    ]

    @Test(arguments: remedies)
    func remedyNamesOptionsOfTheCommand(remedy: LoadError.Remedy) {
        let error = LoadError(.limitExceeded, message: "too much", remedy: remedy)
        #expect(error.message == "too much; \(remedy.phrase)")
        #expect(error.phrase == "too much; \(remedy.commandPhrase)")
        #expect(!error.phrase.contains("Limits") && !error.phrase.contains("trust roots"))
        #expect(Failure(error).message == error.phrase)
    }

    @Test func textBeforeTheRemedyIsKept() {
        var error = LoadError(.limitExceeded, message: "too much", remedy: .raiseLimit("x"))
        error.message = "the proxy: \(error.message)"
        #expect(error.phrase == "the proxy: too much; \(LoadError.Remedy.raiseLimit("x").commandPhrase)")
        error.message = "something else"
        #expect(error.phrase == "something else")
    }

    @Test func remedyOfACauseNamesOptionsOfTheCommand() {
        let cause = LoadError(.certificateNotTrusted, message: "not trusted", remedy: .trustCertificate)
        let error = LoadError(.cannotConnect, message: "no", underlyingError: cause)
        #expect(error.phrase == "no: not trusted; \(LoadError.Remedy.trustCertificate.commandPhrase)")
    }
}
