// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import Synchronization
import TestThreads
import Testing

private let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

/// Options with curl's names send the same requests as curl(1), and write the same files and the same text. The tests
/// run both programs.
@Suite(.blocking, .timeLimit(.minutes(5)), .enabled(if: hasCurl, "needs curl"))
struct GetCurlOptionsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        /// A shell script. CMD stands for the program with its first option, SERVER for the URL of the server, and PORT
        /// for its port.
        let script: String
        /// The responses, one for each connection.
        let responses: [String]

        init(_ script: String, _ responses: String...) {
            (self.script, self.responses) = (script, responses.isEmpty ? [Row.ok] : responses)
        }

        var testDescription: String { script }

        static let ok = Row.response("200 OK", ["Content-Type: text/plain"], "hello")

        static func response(_ status: String, _ fields: [String] = [], _ body: String = "") -> String {
            (["HTTP/1.1 \(status)", "Connection: close", "Content-Length: \(body.utf8.count)"] + fields).joined(separator: "\r\n")
                + "\r\n\r\n"
                + body
        }

        static func redirect(to location: String) -> String { response("302 Found", ["Location: \(location)"], "moved") }
    }

    /// What a program has done.
    private struct Outcome: Equatable {
        let status: Int32
        let output: String
        let files: [String: String?]
        /// The lines of each request, without the fields whose defaults differ.
        let requests: [[String]]
    }

    /// Replaces the boundary of a form, which differs in length, and the length of the body.
    private static func withoutBoundary(_ lines: [String]) -> [String] {
        guard let type = lines.first(where: { $0.contains("boundary=") }), let boundary = type.components(separatedBy: "boundary=").last
        else { return lines }
        return lines.filter { !$0.hasPrefix("Content-Length") }.map {
            // The boundaries of bodies within the form differ, too.
            $0.replacingOccurrences(of: boundary, with: "BOUNDARY").replacing(/-{24}[A-Za-z0-9]{16}/, with: "BOUNDARY")
        }
    }

    /// The response to each Digest authorization differs.
    private static let otherDefaults = [
        "authorization: digest", "proxy-authorization: digest",
        "user-agent: curl", "user-agent: portolan", "accept: */*", "accept-encoding:", "proxy-connection:",
    ]

    private func outcome(of command: String, _ row: Row) throws -> Outcome {
        let program = try Program()
        let port = Mutex(0)
        let server = try ScriptedServer { [responses = row.responses] index in
            let response = responses[min(index, responses.count - 1)]
            // The body can come after its head.
            let bodyEnd = row.script.contains(" -F ") ? "--\r\n" : row.script.contains("END > b") ? "END" : nil
            let body = bodyEnd.map { [ScriptedServer.Step.receiveThrough($0)] } ?? []
            // A tunnel carries two responses.
            return response.replacingOccurrences(of: "PORT", with: "\(port.withLock { $0 })").components(separatedBy: "THEN").flatMap {
                [.receiveHead] + body + [.send(text: $0)]
            }
        }
        port.withLock { $0 = server.port }
        func withServer(_ text: String) -> String {
            text.replacingOccurrences(of: "SERVER", with: server.url("")).replacingOccurrences(of: "PORT", with: "\(server.port)")
        }
        func withoutServer(_ text: String) -> String { text.replacingOccurrences(of: "\(server.port)", with: "PORT") }
        let outcome = try program.runScript(withServer(row.script.replacingOccurrences(of: "CMD", with: command)))
        let names = try program.files
        let requests = server.requests.map { lines in
            Self.withoutBoundary(lines).filter { line in !Self.otherDefaults.contains(where: line.lowercased().hasPrefix) }.map(
                withoutServer)
        }
        return Outcome(
            status: outcome.status, output: withoutServer(outcome.text),
            files: Dictionary(uniqueKeysWithValues: names.map { ($0, program.contents(of: $0).map(withoutServer)) }),
            requests: requests.map { [$0.first ?? ""] + $0.dropFirst().map { $0.lowercased() }.sorted() })
    }

    private static let redirects = [Row.redirect(to: "/b"), Row.ok]
    private static let trailers =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"
    private static let refusal = Row.response("401 Who", ["WWW-Authenticate: Basic realm=\"r\""], "no")
    private static let part = Row.response("206 Partial Content", ["Content-Range: bytes 5-9/10"], "56789")
    private static let unsatisfied = Row.response("416 Range Not Satisfiable", [], "none")

    static let rows = [
        // Reports
        Row("CMD -w '%{http_code} %{size_download} %{content_type} %{method} %{urlnum}\\n' SERVER/a SERVER/b"),
        Row(
            "CMD -L -o f -w '%{num_redirects} %{url_effective} %{filename_effective} %header{content-type}%{num_connects}' SERVER/a",
            redirects[0], redirects[1]),
        Row("CMD -w '%{stderr}no%{stdout}%{exitcode}%{onerror} failed' SERVER/a"),
        Row("CMD -f -w '%{http_code} %{exitcode}%{onerror} failed' SERVER/a", Row.response("404 Not Found", [], "no")),
        Row("echo '%{http_code}' > format; CMD -o f -w @format SERVER/a"), Row("CMD -w '%{http_code}' http://127.0.0.1:1/"),
        Row("CMD -D heads SERVER/a"), Row("CMD -D - SERVER/a"), Row("CMD -L -D heads SERVER/a", redirects[0], redirects[1]),
        Row("CMD -i SERVER/a"), Row("CMD -L -i SERVER/a", redirects[0], redirects[1]),
        Row("CMD -I SERVER/a", Row.response("200 OK", ["X-Y: z"])),
        Row("CMD -D heads -f SERVER/a", Row.response("404 Not Found")), Row("CMD --stderr errors -f SERVER/a"),
        Row("CMD --no-progress-meter SERVER/a"),
        // Heads of loads that fail, and trailers
        Row("CMD -i -L --max-redirs 2 SERVER/a", redirects[0]),
        Row("CMD -D h -L --max-redirs 2 -w '%{redirect_url} %{http_code} %{num_redirects}' SERVER/a", redirects[0]),
        Row("CMD -i -L --proto-redir =https SERVER/a", redirects[0]), Row("CMD -f -i SERVER/a", Row.response("404 Not Found", [], "no")),
        Row("CMD -i -u a:b SERVER/a; true", refusal), Row("CMD -D h -o f -u a:b -w '%{http_code}' SERVER/a; true", refusal),
        Row("CMD -f -i -u a:b SERVER/a; true", refusal), Row("CMD -i SERVER/a", trailers), Row("CMD -D h SERVER/a", trailers),
        Row("CMD -i SERVER/a", Row.response("200 OK", ["Empty:"])),
        Row("CMD -i -m 1 SERVER/a", "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"),
        // Continued loads
        Row("CMD -C 5 -o new SERVER/a", part), Row("printf 012 > f; CMD -C 5 -o f SERVER/a", part),
        Row("printf 01234 > f; CMD -C 5 -o f SERVER/a", part),
        Row("printf 01234 > f; CMD -C - -o f SERVER/a", unsatisfied), Row("printf 01234 > f; CMD -C - -o f SERVER/a", Row.ok),
        Row("printf 0123456 > f; CMD -C 0 -o f SERVER/a", Row.ok),
        Row("CMD -C 5 SERVER/a", Row.response("200 OK", ["Content-Range: bytes 5-"], "56789")),
        Row("CMD -C 5 -o f SERVER/a", Row.response("200 OK", ["Content-Range: bytes 5-9/10"], "56789")),
        Row("CMD -C 5 --fail -o f SERVER/a && rm -f f", unsatisfied),
        Row("CMD -C 4 -i SERVER/a", Row.ok), Row("CMD -C 5 -i SERVER/a", Row.ok), Row("CMD -C 5 --fail -i SERVER/a", unsatisfied),
        Row("CMD -C 5 --fail -i SERVER/a", Row.response("416 No", ["Content-Range: bytes */5"], "none")),
        Row("CMD -C 5 SERVER/a", unsatisfied),
        // Output
        Row("CMD -o a SERVER/1 -o b SERVER/2"), Row("CMD -o a SERVER/1 SERVER/2"), Row("CMD -o a -o b SERVER/1"),
        Row("CMD -O SERVER/x -o b SERVER/2"),
        Row("CMD --output-dir d --create-dirs -o e/f SERVER/a; cat d/e/f"), Row("CMD --output-dir . -O SERVER/a"),
        Row("echo old > f; CMD --no-clobber -o f SERVER/a; CMD --no-clobber -o f SERVER/a"), Row("echo old > x; CMD --clobber -O SERVER/x"),
        Row("echo old > f; CMD -o f -w '%{filename_effective}' SERVER/a"),
        Row("CMD --output-dir . -o f -w '%{filename_effective}' SERVER/a"),
        Row("CMD -O -w '%{filename_effective}' SERVER/x"), Row("echo old > x; CMD --clobber -O -w '%{filename_effective}' SERVER/x"),
        Row("ln -s g f; CMD -o f -w '%{filename_effective}' SERVER/a"),
        Row("echo old > f; CMD --no-clobber -o f -w '%{filename_effective}' SERVER/a"),
        Row("CMD -f -o f -w '%{filename_effective}' SERVER/a", Row.response("404 Not Found", [], "no")),
        Row("CMD -o f -w '%{filename_effective}' http://127.0.0.1:1/"), Row("CMD -o /dev/null -w '%{filename_effective}' SERVER/a"),
        Row("printf 01234 > f; CMD -C 5 -o f -w '%{filename_effective}' SERVER/a", part),
        Row("mkdir d; CMD --no-clobber -o d -w '%{filename_effective}' SERVER/a; cat d.1"),
        Row("CMD -R -o f SERVER/a; TZ=UTC stat -c %Y f", Row.response("200 OK", ["Last-Modified: Sat, 28 Nov 2020 14:00:00 GMT"], "x")),
        Row("CMD --fail-with-body SERVER/a", Row.response("404 Not Found", [], "no")), Row("CMD --fail-with-body SERVER/a"),
        Row("CMD --remove-on-error -o f SERVER/a", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
        Row("CMD --max-filesize 3 -o f SERVER/a"), Row("CMD --max-filesize 5 -o f SERVER/a"),
        // Data
        Row("CMD -d a=1 -d b SERVER/a"), Row("printf 'x\\ny\\r\\n' > f; CMD -d @f SERVER/a"),
        Row("printf 'x\\ny\\r\\n' > f; CMD --data-binary @f SERVER/a"),
        Row("CMD --data-raw @f -d b SERVER/a"), Row("CMD -d a --data-urlencode 'b=c d&ü' SERVER/a"),
        Row("CMD --data-urlencode '=a b' SERVER/a"),
        Row("printf 'a b' > f; CMD --data-urlencode n@f SERVER/a"), Row("CMD --json '{\"a\":' --json '1}' SERVER/a"),
        Row("CMD --json x -H 'Content-Type: a/b' SERVER/a"), Row("CMD -G -d a=1 -d b SERVER/a"), Row("CMD -G -d a 'SERVER/a?b'"),
        Row("CMD -G -I -d a SERVER/a"), Row("CMD --url-query 'a=b c' --url-query +d%20e 'SERVER/a?f'"),
        Row("CMD -G --data-urlencode 'a=b c' SERVER/a"),
        Row("printf 'a\\nb' > f.txt; CMD -F 'a=b c' -F 'd=@f.txt' -F 'e=<f.txt' --form-string 'g=@x;y' SERVER/a"),
        Row("printf x > f; CMD -F 'a=@f;type=text/x;filename=\"q r\"' -F 'b=c;type=text/html' SERVER/a"),
        Row(
            "printf x > f.txt; CMD -F 'a= <b>x</b>;type=text/html' -F 'b= y ' -F 'c=d;filename=x.png' -F 'e=@f.txt;filename=g' -F =x SERVER/a"
        ),
        Row("echo x > f; echo x | CMD -F a=@- -F 'b=c;foo=bar' -F 'd=@f;type=x/y; z=1 ; filename=g' SERVER/a", Row.ok),
        Row(
            "printf x > f.html; CMD -F 'a=<f.html;filename=g' -F 'b=@f.html;encoder=base64' -F 'c=d;encoder=7bit;headers=\"X: y\"' SERVER/a"
        ),
        Row("CMD -F 'a=(;type=multipart/alternative' -F =b -F 'c=d;type=x/y' -F '=)' -F 'e=(' -F f=g SERVER/a"),
        Row("CMD -F '=)' SERVER/a"), Row("CMD -F a=b -F 'c=(' -F d=e -H 'Content-Type: multipart/mixed' SERVER/a"),
        Row("CMD -F a=b -H 'Content-Type: multipart/form-data; x=y' SERVER/a"),
        Row("CMD --limit-rate 100k SERVER/a"), Row("CMD -d x -H 'Transfer-Encoding: chunked' SERVER/a"),
        Row(": > b.txt; CMD -H Expect: -T b.txt 'SERVER/?q'"),
        Row("printf 0123456END > b; CMD -H Expect: -T b -C 3 SERVER/a"), Row("printf 0123456END > b; CMD -H Expect: -T b -C - SERVER/a"),
        Row("printf 0123456END > b; CMD -H Expect: -T b -C 3 -H 'Content-Range: x' SERVER/a"),
        Row(": > a; : > b; CMD -H Expect: -T '{a,b}' 'SERVER/{1,2}/'"),
        Row(
            "CMD --digest -u a:b -d junk -H 'Content-Length: 4' SERVER/a",
            Row.response("401 Who", ["WWW-Authenticate: Digest realm=\"r\", nonce=\"n\""]), Row.ok),
        Row(
            "CMD --noproxy '' -x http://127.0.0.1:PORT -U a:b --proxy-digest -d abc http://h.test/",
            Row.response("407 Who", ["Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\""]), Row.ok),
        // Request
        Row("CMD -A agent SERVER/a"), Row("CMD -A '' SERVER/a"), Row("CMD -H 'Host: a' -H 'Host: b' SERVER/a"),
        Row("CMD -e http://r/ SERVER/a"),
        Row("CMD -L -e 'http://r/;auto' SERVER/a", redirects[0], redirects[1]), Row("CMD -0 SERVER/a"), Row("CMD --http1.0 -d x SERVER/a"),
        Row("CMD --request-target '*' -X OPTIONS SERVER/a"), Row("printf 'A: 1\\nB: 2\\n' > f; CMD -H @f SERVER/a"),
        Row("CMD -r 0-3 SERVER/a"), Row("CMD -r -5 SERVER/a"), Row("printf 'url = SERVER/a\\nheader = \"A: b\"\\n' > c; CMD -K c"),
        Row("printf 'url = SERVER/a\nsilent = x\n-s y\n' > c; CMD -K c"), Row("CMD u:p@127.0.0.1:PORT/a"),
        Row("CMD -H 'X-A;ignored' -H none -H '' -H 'X-B; ' SERVER/a"), Row("CMD -H 'Proxy-Connection: Keep-Alive' SERVER/a"),
        Row("CMD -b a=b -b e=f SERVER/a"), Row("printf '127.0.0.1\\tFALSE\\t/\\tFALSE\\t0\\tq\\tw\n' > jar; CMD -b a=1 -b jar SERVER/a"),
        Row(
            "CMD -L -c jar -b own=1 SERVER/a; rm jar",
            Row.response("302 Found", ["Location: /b", "Set-Cookie: s=1"], "moved"), Row.ok),
        Row("CMD 127.0.0.1:PORT/a"), Row("CMD --url SERVER/a"), Row("CMD --proto =https SERVER/a"),
        Row("CMD -o '#1' 'SERVER/{a,b}'"), Row("CMD -g 'SERVER/%7Ba,b%7D'"), Row("CMD 'SERVER/[1-2]'"),
        Row("CMD -d x SERVER/a --next -H 'A: b' SERVER/b"), Row("CMD -Z -o a SERVER/1 -o b SERVER/1"),
        // Conditions
        Row("CMD -z '28 Nov 2026' SERVER/a"), Row("CMD -z '-28 Nov 2026' SERVER/a"), Row("CMD -w '%{scheme}' SERVER/a"),
        Row(
            "CMD -z '28 Nov 2026' -w '%{response_code}' SERVER/a",
            Row.response("200 OK", ["Last-Modified: Fri, 27 Nov 2026 00:00:00 GMT"], "old")),
        Row("CMD --etag-save nosuch/f SERVER/a"), Row("CMD --etag-compare nosuch SERVER/a"),
        Row("CMD --etag-compare nosuch --etag-save t SERVER/a"),
        Row("echo x > f; TZ=UTC touch -d '2026-11-28 10:00' f; CMD -z f SERVER/a"),
        Row("CMD -z '28 Nov 2026' SERVER/a", Row.response("200 OK", ["Last-Modified: Fri, 27 Nov 2026 00:00:00 GMT"], "old")),
        Row("CMD --etag-save t SERVER/a", Row.response("200 OK", ["ETag: \"v1\""], "x")),
        Row("printf '\"v1\"\\n' > t; CMD --etag-compare t SERVER/a", Row.response("304 Not Modified")),
        // Connections
        Row("CMD --resolve h.test:PORT:127.0.0.1 http://h.test:PORT/a"), Row("CMD --connect-to h.test:80:127.0.0.1:PORT http://h.test/a"),
        Row("CMD --connect-to ::127.0.0.1:PORT http://h.test/a"), Row("CMD -4 SERVER/a"),
        Row("CMD --resolve x SERVER/a"), Row("CMD --resolve h.test:PORT:x SERVER/a"),
        Row(
            "CMD SERVER/a",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: \(String(repeating: "gzip,", count: 40))gzip\r\n\r\nx"),
        // Redirects
        Row("CMD -L SERVER/a", Row.response("302 Found", ["Location: "], "empty")), Row("CMD --no-location SERVER/a", redirects[0]),
        Row("CMD -L --max-redirs 0 SERVER/a", redirects[0]),
        Row("CMD -L -u u:p SERVER/a", Row.redirect(to: "http://localhost:PORT/b"), Row.ok),
        Row("CMD --location-trusted -u u:p SERVER/a", Row.redirect(to: "http://localhost:PORT/b"), Row.ok),
        Row("CMD -L --post302 -d x SERVER/a", redirects[0], redirects[1]), Row("CMD -L -d x SERVER/a", redirects[0], redirects[1]),
        Row("CMD -L --proto-redir =https SERVER/a", redirects[0]),
    ]

    @Test(arguments: rows)
    func effectIsThatOfCurl(row: Row) throws {
        let curl = try outcome(of: "/usr/bin/curl -q -s --noproxy '*'", row)
        let portolan = try outcome(of: "\"$portolan\" get -s", row)
        #expect(portolan.status == curl.status)
        #expect(portolan.output == curl.output)
        #expect(portolan.files == curl.files)
        #expect(portolan.requests == curl.requests)
    }
}
