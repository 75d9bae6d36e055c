// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON
import Testing

@testable import PortolanCLI

/// The text of `-w`.
@Suite struct WriteOutTests {
    @Test(
        arguments: [
            ("a%{http_code}\\n", [.text("a"), .variable("http_code"), .text("\n")]), ("100%%", [.text("100%")]),
            ("50% %{", [.text("50% %{")]),
            ("%header{a}%output{>>f}%output{g}", [.field("a"), .file(path: "f", appends: true), .file(path: "g", appends: false)]),
            ("%{stderr}%{stdout}%{onerror}", [.standardError, .standardOutput, .onError]), ("\\t\\x\\", [.text("\t\\x\\")]), ("", []),
        ] as [(String, [WriteOutFormat.Piece])])
    func formatHasPieces(text: String, pieces: [WriteOutFormat.Piece]) {
        #expect(WriteOutFormat(parsing: text).pieces == pieces)
    }

    @Test func unknownVariablesAreReported() {
        #expect(WriteOutFormat(parsing: "%{http_code}%{nosuch}%{json}%{url.host}%{url.x}").unknownVariables == ["nosuch", "url.x"])
    }

    private func values() throws -> WriteOutValues {
        var values = WriteOutValues(url: "http://h/a?b#c", urlNumber: 2)
        values.request = try Request("http://u@h:81/a?b#c", method: .post, fields: [.referer: "r"])
        values.response = Response(
            url: try URLRecord(parsing: "http://h:81/x"), status: .init(code: 302, reasonPhrase: "Found"),
            fields: [.contentType: "text/plain", .location: "/y", .setCookie: "a=1"])
        values.response?.httpVersion = "1.0"
        values.effectiveURL = values.response?.url
        values.response?.fields.append(HTTPField(name: .setCookie, value: "b=2"))
        var metrics = LoadMetrics()
        for (step, time) in [(LoadStep.domainResolved, 1), (.connected, 3), (.requestSent, 4), (.firstByte, 10)] {
            metrics.recordStep(step, at: .milliseconds(time))
        }
        var report = TransferReport(networkProtocol: "http/1.1")
        (report.remoteAddress, report.localAddress, report.bytesSent) = ("[::1]:81", "127.0.0.1:4000", 150)
        metrics.recordTransfer(report, at: .milliseconds(20))
        (values.metrics, values.headSize, values.uploadSize, values.bodySize) = (metrics, 90, 50, 40)
        (values.path, values.retryCount) = ("out", 1)
        return values
    }

    @Test(arguments: [
        ("http_code", "302"), ("response_code", "302"), ("http_version", "1"), ("method", "POST"), ("scheme", "HTTP"),
        ("url", "http://h/a?b#c"),
        ("url_effective", "http://h:81/x"), ("redirect_url", "http://h:81/y"), ("content_type", "text/plain"), ("num_headers", "4"),
        ("num_connects", "1"), ("num_redirects", "0"), ("num_retries", "1"), ("urlnum", "2"), ("referer", "r"), ("remote_ip", "::1"),
        ("remote_port", "81"), ("local_ip", "127.0.0.1"), ("local_port", "4000"), ("size_header", "90"), ("size_upload", "50"),
        ("size_request", "100"), ("size_download", "40"), ("speed_download", "0"), ("time_namelookup", "0.001000"),
        ("time_connect", "0.003000"), ("time_appconnect", "0.000000"), ("time_pretransfer", "0.003000"),
        ("time_starttransfer", "0.010000"), ("time_total", "0.000000"), ("exitcode", "0"), ("errormsg", ""), ("filename_effective", "out"),
        ("http_connect", "000"), ("url.path", "/a"), ("url.query", "b"), ("url.fragment", "c"), ("url.port", "80"), ("urle.port", "81"),
        ("urle.query", ""),
    ])
    func variableHasAValue(name: String, value: String) throws {
        #expect(try values().text(of: name) == value)
        #expect(WriteOutFormat(parsing: "%{\(name)}").unknownVariables == [])
    }

    @Test func variableWithoutAResponseIsEmpty() {
        let values = WriteOutValues(url: "http://h/", failure: Failure(.cannotConnect, "no"))
        #expect(values.text(of: "http_code") == "000" && values.text(of: "exitcode") == "7" && values.text(of: "errormsg") == "no")
        #expect(values.text(of: "content_type") == "" && values.text(of: "nosuch") == nil)
    }

    @Test func jsonHasEachVariable() throws {
        let text = try #require(try values().text(of: "json"))
        let value = try JSONParser.parse(Array(text.utf8))
        for name in WriteOutValues.names { #expect(value[name] != nil, "\(name)") }
        #expect(value["http_code"] == .integer(302) && value["time_starttransfer"] == .number("0.010000"))
        #expect(value["content_type"] == .string("text/plain") && value["ftp_entry_path"] == .null)
    }

    @Test func fieldsAreJSONWithAListForEachName() throws {
        #expect(
            try values().text(of: "header_json")
                == "{\"content-type\":[\"text/plain\"],\n\"location\":[\"/y\"],\n\"set-cookie\":[\"a=1\",\"b=2\"]\n}")
    }
}
