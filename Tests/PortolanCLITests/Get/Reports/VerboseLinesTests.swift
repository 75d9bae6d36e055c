// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import Testing

@testable import PortolanCLI

@Suite struct VerboseLinesTests {
    private static func challengeLines(_ kind: ProtectionSpace.Kind, isTrusted: Bool, checksTrust: Bool = true) -> [String] {
        let space = ProtectionSpace(kind: kind, protocolName: "https", host: "h.test", port: 443)
        let event = LoadEvent.challenged(space, failures: 0, isTrusted: isTrusted, .notHandled)
        return VerboseLines.lines(for: event, at: .zero, checksTrust: checksTrust)
    }

    @Test func trustChallengeReportsWhetherTheServerIsTrusted() {
        #expect(Self.challengeLines(.serverTrust(chain: []), isTrusted: true) == ["* server certificate of 'h.test:443': trusted"])
        #expect(Self.challengeLines(.serverTrust(chain: []), isTrusted: false) == ["* server certificate of 'h.test:443': not trusted"])
        #expect(
            Self.challengeLines(.serverTrust(chain: []), isTrusted: true, checksTrust: false)
                == ["* server certificate of 'h.test:443': not checked because of -k"])
    }

    @Test func onlyPasswordChallengesReportFailures() {
        #expect(
            Self.challengeLines(.clientCertificate(acceptedIssuers: []), isTrusted: true)
                == ["* client certificate challenge of 'h.test:443'"])
        #expect(
            Self.challengeLines(.password(scheme: "digest"), isTrusted: true)
                == ["* Digest challenge of 'h.test:443', 0 failures before it: no user name and password for it"])
    }

    @Test func valuesOfCookiesAreHidden() throws {
        var response = Response(url: try URLRecord(parsing: "http://h/"), status: .ok)
        for value in ["sid=s3cr3t; Path=/a=b", "s3cr3t; Path=/"] { response.fields.append(HTTPField(name: .setCookie, value: value)) }
        let lines = VerboseLines.lines(for: .interim(response), at: .zero).map { $0.lowercased() }
        #expect(lines.suffix(3).filter { $0.hasPrefix("< set") } == ["< set-cookie: sid=…; path=/a=b", "< set-cookie: …; path=/"])
    }

    @Test("The line about a request that was sent again names the scheme of the challenge, and no secret")
    func resentRequestIsNamedWithItsChallenge() throws {
        var metrics = LoadMetrics()
        metrics.recordStep(.requestSent, at: .milliseconds(1))
        var response = Response(url: try URLRecord(parsing: "http://h/"), status: .unauthorized)
        response.fields[.wwwAuthenticate] = "Digest realm=\"r\", nonce=\"n\""
        metrics.recordResend(after: response)
        metrics.recordTransfer(TransferReport(networkProtocol: "http/1.1"), at: .milliseconds(2))
        metrics.recordStep(.requestSent, at: .milliseconds(3))
        let lines = VerboseLines.lines(for: .metrics(metrics, since: .zero), at: .milliseconds(5))
        #expect(lines.last == "* request 1 got the status 401, the challenge of the server is 'digest'; request 2 responds to it")
    }
}
