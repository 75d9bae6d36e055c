// SPDX-License-Identifier: Apache-2.0

import Portolan
import Testing

@testable import PortolanCLI

@Suite struct VerboseLinesTests {
    private static func line(_ kind: ProtectionSpace.Kind, isTrusted: Bool, checksTrust: Bool = true) -> [String] {
        let space = ProtectionSpace(kind: kind, protocolName: "https", host: "h.test", port: 443)
        let event = LoadEvent.challenged(space, failures: 0, isTrusted: isTrusted, .leftAlone)
        return VerboseLines.lines(for: event, at: .zero, checksTrust: checksTrust)
    }

    @Test func trustChallengeReportsWhetherTheServerIsTrusted() {
        #expect(Self.line(.serverTrust(chain: []), isTrusted: true) == ["* serverTrust of 'h.test': trusted: default handling"])
        #expect(Self.line(.serverTrust(chain: []), isTrusted: false) == ["* serverTrust of 'h.test': not trusted: default handling"])
        #expect(
            Self.line(.serverTrust(chain: []), isTrusted: true, checksTrust: false)
                == ["* serverTrust of 'h.test': not checked because of -k: default handling"])
    }

    @Test func onlyPasswordChallengesReportFailures() {
        #expect(
            Self.line(.clientCertificate(acceptedIssuers: []), isTrusted: true)
                == ["* clientCertificate challenge by 'h.test': default handling"])
        #expect(Self.line(.password(scheme: "basic"), isTrusted: true).first?.contains(", 0 failures so far: ") == true)
    }
}
