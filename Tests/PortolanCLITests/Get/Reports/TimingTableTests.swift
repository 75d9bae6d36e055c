// SPDX-License-Identifier: Apache-2.0

import Portolan
import Testing

@testable import PortolanCLI

@Suite struct TimingTableTests {
    private static let metrics: LoadMetrics = {
        var metrics = LoadMetrics()
        var firstTransfer = TransferReport(networkProtocol: "h2")
        firstTransfer.remoteAddress = "127.0.0.1:443"
        firstTransfer.tlsVersion = "TLSv1.3"
        firstTransfer.proxy = "http://proxy:3128"
        (firstTransfer.bytesSent, firstTransfer.bytesReceived) = (120, 4567)
        for (step, time) in [
            (LoadStep.domainResolved, 300), (.connected, 500), (.tlsEstablished, 2400), (.requestSent, 2500), (.firstByte, 105_700),
        ] {
            metrics.recordStep(step, at: .microseconds(time))
        }
        metrics.recordTransfer(firstTransfer, at: .microseconds(106_100))
        metrics.recordStep(.connectionReused, at: .microseconds(106_200))
        metrics.recordTransfer(TransferReport(networkProtocol: "http/1.1", isReused: true), at: .microseconds(107_000))
        metrics.recordStep(.connected, at: .microseconds(108_000))
        return metrics
    }()

    @Test func tableHasALineForEachRequest() {
        #expect(
            TimingTable(Self.metrics).lines == [
                "request  waiting  domain lookup  connecting  TLS handshake  sending  awaiting response  receiving  total  (ms)",
                "      1        -            0.3         0.2            1.9      0.1              103.2        0.4  106.1  h2, TLSv1.3, "
                    + "new connection to 127.0.0.1:443, proxy http://proxy:3128, 120 bytes out, 4567 in",
                "      2      0.1              -           -              -        -                  -          -    0.9  http/1.1, "
                    + "reused connection, 0 bytes out, 0 in",
                "      3        -              -         1.0              -        -                  -          -      -  cut short",
            ])
    }

    @Test func secureProxyIsReportedAsTrustedOrNotChecked() throws {
        for (checksTrust, isResumed, phrase) in [
            (true, false, "TLSv1.2, trusted"), (true, true, "TLSv1.2 resumed, trusted"), (false, false, "TLSv1.2, not checked"),
        ] {
            var report = TransferReport(networkProtocol: "http/1.1")
            report.proxy = "https://proxy:443"
            (report.proxyTLSVersion, report.isProxyTLSResumed) = ("TLSv1.2", isResumed)
            var metrics = LoadMetrics()
            metrics.recordTransfer(report, at: .milliseconds(1))
            let line = try #require(TimingTable(metrics, checksTrust: checksTrust).lines.last)
            #expect(line.contains(", proxy https://proxy:443 (\(phrase)), "), "\(line)")
        }
    }
}
