// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import ServerSupport

extension HTTPTransaction {
    // A computed property, because LeakSanitizer would report the contents of stored steps as leaks: it does not follow
    // pointers that carry an enum's tag.
    static var all: [Self] { responses + uploads + redirections + authentications + faults }

    private static let okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    // MARK: Responses

    private static var responses: [Self] {
        [
            Self("a ranged request") {
                $0.fields = [("Range", "bytes=2-5")]
                $0.scripts = [
                    respond(
                        "HTTP/1.1 206 Partial\r\nContent-Range: bytes 2-5/10\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n2345")
                ]
                $0.expectedEvents = ["response 206", "data '2345'", "finished"]
                $0.expectedRequests = ["range: bytes=2-5"]
            },
            Self("a type with a charset, and a name") {
                $0.scripts = [
                    respond(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=\"utf-8\"\r\nContent-Disposition: attachment; filename=\"chart.html\"\r\n"
                            + "ETag: \"1\"\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok")
                ]
                $0.expectedEvents = ["response 200", "data 'ok'", "finished"]
            },
            Self("a large body") {
                $0.scripts = [[.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), .send(letters(1_000_000))]]
                $0.expectedEvents = ["response 200", "data 1000000 bytes", "finished"]
            },
            Self("chunks and trailers") {
                $0.fields = [("TE", "trailers")]
                $0.scripts = [
                    respond(
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;a=b\r\none\r\nA\r\n0123456789\r\n0\r\nX-Sum: 7\r\nX-State: done\r\n\r\n"
                    )
                ]
                $0.expectedEvents = ["response 200", "data 'one0123456789'", "trailers [\"x-sum: 7\", \"x-state: done\"]", "finished"]
            },
            Self("chunks without trailers") {
                $0.scripts = [respond("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")]
                $0.expectedEvents = ["response 200", "data 'ok'", "finished"]
            },
            Self("a body that ends with the connection") {
                $0.scripts = [respond("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end") + [.halfClose]]
                $0.expectedEvents = ["response 200", "data 'to the end'", "finished"]
            },
            Self("a response byte by byte") {
                $0.scripts = [
                    [
                        .receiveHead,
                        .sendByteByByte(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n".utf8)),
                    ]
                ]
                $0.expectedEvents = ["response 200", "data 'ok'", "trailers", "finished"]
            },
            Self("HEAD") {
                $0.method = .head
                $0.scripts = [respond("HTTP/1.1 200 OK\r\nContent-Length: 4711\r\nContent-Type: text/plain\r\n\r\n")]
                $0.expectedEvents = ["response 200", "finished"]
                $0.expectedRequests = ["HEAD /a/resource HTTP/1.1"]
            },
            Self("HEAD without a length") {
                $0.method = .head
                $0.scripts = [respond("HTTP/1.1 200 OK\r\n\r\n")]
                $0.expectedEvents = ["response 200", "finished"]
            },
            Self("a 204 without a body") {
                $0.method = .delete
                $0.scripts = [respond("HTTP/1.1 204 Gone\r\n\r\n")]
                $0.expectedEvents = ["response 204", "finished"]
            },
            Self("304 with validators") {
                $0.fields = [("If-None-Match", "\"1\"")]
                $0.scripts = [respond("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 100\r\n\r\n")]
                $0.expectedEvents = ["response 304", "finished"]
            },
            Self("404 with a body, and a query") {
                $0.path = "/none?x=%20y&z"
                $0.scripts = [respond("HTTP/1.1 404 None\r\nContent-Length: 4\r\n\r\nnone")]
                $0.expectedEvents = ["response 404", "data 'none'", "finished"]
                $0.expectedRequests = ["GET /none?x=%20y&z HTTP/1.1"]
            },
            Self("interim responses") {
                $0.scripts = [
                    respond("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>; rel=preload\r\nLink: </y>\r\n\r\n" + okResponse)
                ]
                $0.expectedEvents = ["step firstByte", "interim 100", "interim 103", "response 200", "data 'ok'", "finished"]
            },
            Self("all of a request's own fields") {
                $0.fields = [
                    ("Cookie", "a=b"), ("X-Twice", "one"), ("X-Twice", "two"), ("X-Empty", ""), ("User-Agent", "me"), ("Accept", "a/b"),
                ]
                $0.scripts = [respond(okResponse)]
                $0.expectedEvents = ["response 200", "data 'ok'", "finished"]
                $0.expectedRequests = ["accept: a/b", "cookie: a=b", "user-agent: me", "x-empty:", "x-twice: one", "x-twice: two"]
            },
        ]
    }

    // MARK: Uploads

    private static var uploads: [Self] {
        [
            Self("an upload of bytes") {
                ($0.method, $0.upload) = (.put, .bytes(5000))
                $0.scripts = [respond(okResponse, after: 5000)]
                $0.expectedEvents = ["sent 5000", "step requestSent", "response 200", "finished"]
                $0.expectedRequests = ["content-length: 5000", "body 5000 bytes"]
            },
            Self("an upload of a file") {
                ($0.method, $0.upload) = (.post, .file(300_000))
                $0.scripts = [respond(okResponse, after: 300_000)]
                $0.expectedEvents = ["sent 300000", "step requestSent", "response 200", "finished"]
                $0.expectedRequests = ["content-length: 300000", "body 300000 bytes"]
            },
            Self("an upload of a stream") {
                ($0.method, $0.upload) = (.post, .stream([10, 3000, 1, 60_000], hasKnownLength: false))
                $0.scripts = [[.receiveHead, .receiveThrough("0\r\n\r\n"), .send(text: okResponse)]]
                $0.expectedEvents = ["sent 63011", "step requestSent", "response 200", "finished"]
                $0.expectedRequests = ["transfer-encoding: chunked", "body 63011 bytes"]
            },
            Self("an upload of a stream of known length") {
                ($0.method, $0.upload) = (.put, .stream([10, 3000], hasKnownLength: true))
                $0.scripts = [respond(okResponse, after: 3010)]
                $0.expectedEvents = ["sent 3010", "response 200", "finished"]
                $0.expectedRequests = ["content-length: 3010", "body 3010 bytes"]
            },
            Self("a POST without a body") {
                $0.method = .post
                $0.scripts = [respond(okResponse)]
                $0.expectedEvents = ["response 200", "finished"]
                $0.expectedRequests = ["content-length: 0"]
            },
            Self("a body that waits for 100 Continue") {
                ($0.method, $0.upload, $0.fields) = (.put, .bytes(5000), [("Expect", "100-continue")])
                $0.scripts = [[.receiveHead, .send(text: "HTTP/1.1 100 Continue\r\n\r\n"), .receive(5000), .send(text: okResponse)]]
                $0.expectedEvents = ["step firstByte", "interim 100", "sent 5000", "step requestSent", "response 200", "finished"]
                $0.expectedRequests = ["expect: 100-continue", "body 5000 bytes"]
            },
            Self("a body that was refused before it was sent") {
                ($0.method, $0.upload, $0.fields) = (.put, .bytes(5000), [("Expect", "100-continue")])
                $0.scripts = [respond("HTTP/1.1 413 Too Much\r\nContent-Length: 4\r\n\r\nless")]
                $0.expectedEvents = ["response 413", "data 'less'", "finished"]
            },
        ]
    }

    // MARK: Redirects
    // Each response closes its connection, because only the built-in handler reuses connections.

    private static func redirect(_ status: Int, _ location: String) -> [ScriptedServer.Step] {
        respond("HTTP/1.1 \(status) Elsewhere\r\nLocation: \(location)\r\nConnection: close\r\nContent-Length: 5\r\n\r\nthere")
    }

    private static var redirections: [Self] { redirectTargets + redirectMethods + unfollowedRedirects + refusedRedirects }

    private static var redirectTargets: [Self] {
        [
            Self("to a relative reference") {
                $0.scripts = [redirect(302, "../b/./c?d=e"), respond(okResponse)]
                $0.expectedEvents = [
                    "redirect 302 to GET http://127.0.0.1:HERE/b/c?d=e", "response 200 http://127.0.0.1:HERE/b/c?d=e", "finished",
                ]
            },
            Self("to a query, and to a path") {
                $0.path = "/a/b?c#d"
                $0.scripts = [redirect(307, "?x"), redirect(308, "/y"), respond(okResponse)]
                $0.expectedEvents = [
                    "redirect 307 to GET http://127.0.0.1:HERE/a/b?x", "redirect 308 to GET http://127.0.0.1:HERE/y", "finished",
                ]
            },
            Self("to another origin, without credentials") {
                $0.fields = [("Authorization", "Basic eDp5"), ("Cookie", "a=b"), ("X-Kept", "1")]
                $0.scripts = [redirect(301, "{elsewhere}/there")]
                $0.elsewhere = [respond(okResponse)]
                $0.expectedEvents = ["redirect 301 to GET http://127.0.0.1:THERE/there [x-kept: 1]", "response 200", "finished"]
                $0.expectedRequests = ["authorization: Basic eDp5", "GET /there HTTP/1.1", "x-kept: 1"]
            },
            Self("to the same origin, with credentials") {
                $0.fields = [("Authorization", "Basic eDp5"), ("Cookie", "a=b")]
                $0.scripts = [redirect(301, "/there"), respond(okResponse)]
                $0.expectedEvents = ["redirect 301", "response 200", "finished"]
                $0.expectedRequests = ["GET /there HTTP/1.1", "authorization: Basic eDp5", "cookie: a=b"]
            },
            Self("that is decided later") {
                $0.scripts = [redirect(302, "/next"), respond(okResponse)]
                $0.redirects = .followLater
                $0.expectedEvents = ["redirect 302", "response 200", "finished"]
            },
        ]
    }

    private static var redirectMethods: [Self] {
        [
            method(301, .post, .get), method(302, .post, .get), method(303, .put, .get), method(302, .put, .put), method(307, .post, .post),
            method(308, .put, .put),
        ]
    }

    private static func method(_ status: Int, _ method: HTTPRequest.Method, _ nextMethod: HTTPRequest.Method) -> Self {
        Self("\(status) of \(method)") {
            ($0.method, $0.upload, $0.fields) = (method, .bytes(100), [("Content-Type", "a/b")])
            $0.scripts = [
                [.receiveHead, .receive(100)] + redirect(status, "/next").dropFirst(2),
                respond(okResponse, after: nextMethod == .get ? 0 : 100),
            ]
            $0.expectedEvents = ["sent 100", "redirect \(status) to \(nextMethod) http://127.0.0.1:HERE/next", "response 200", "finished"]
            $0.expectedRequests = ["\(method) /a/resource", "\(nextMethod) /next"]
        }
    }

    private static var unfollowedRedirects: [Self] {
        [
            Self("that is not followed") {
                $0.scripts = [redirect(302, "/next")]
                $0.redirects = .deliver
                $0.expectedEvents = ["redirect 302", "response 302", "data 'there'", "finished"]
            },
            Self("that is not followed, decided later") {
                $0.scripts = [redirect(302, "/next")]
                $0.redirects = .deliverLater
                $0.expectedEvents = ["redirect 302", "response 302", "data 'there'", "finished"]
            },
            Self("where redirects are delivered") {
                $0.scripts = [redirect(302, "/next")]
                $0.mode = .manual
                $0.expectedEvents = ["response 302", "data 'there'", "finished"]
            },
            Self("without a Location") {
                $0.scripts = [respond("HTTP/1.1 302 Where\r\nContent-Length: 1\r\n\r\n?")]
                $0.expectedEvents = ["response 302", "data '?'", "finished"]
            },
        ]
    }

    private static var refusedRedirects: [Self] {
        [
            refusedRedirect(to: "http://[::bad/"), refusedRedirect(to: "http://127.0.0.1:99999/"), refusedRedirect(to: "http://a b/"),
            refusedRedirect(to: "file:///etc/passwd"),
            Self("where redirects are errors") {
                $0.scripts = [redirect(302, "/next")]
                $0.mode = .error
                $0.expectedEvents = ["failed badRedirect"]
            },
            Self("that never ends") {
                $0.scripts = (0..<30).map { redirect(302, "/\($0)") }
                $0.expectedEvents = ["redirect 302", "failed tooManyRedirects"]
            },
        ]
    }

    private static func refusedRedirect(to location: String) -> Self {
        Self("to \(location)") {
            $0.scripts = [redirect(302, location)]
            $0.expectedEvents = ["failed badRedirect"]
        }
    }

    // MARK: Challenges

    private static let unauthorizedResponse =
        "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"the hold\"\r\nContent-Length: 2\r\n\r\nno"
    private static let correctAnswer = ChallengeAnswer.use(.password(user: "user", password: "right"))
    private static let wrongAnswer = ChallengeAnswer.use(.password(user: "user", password: "wr\u{F6}ng"))

    private static var authentications: [Self] {
        [
            Self("the right credential") {
                $0.credentials = [correctAnswer]
                $0.scripts = [respond(unauthorizedResponse) + respond(okResponse)]
                $0.expectedEvents = ["challenge", "response 200", "finished"]
                $0.expectedRequests = ["GET", "GET", "authorization: Basic dXNlcjpyaWdodA=="]
            },
            Self("a wrong credential, then the right one") {
                $0.credentials = [wrongAnswer, correctAnswer]
                $0.scripts = [respond(unauthorizedResponse) + respond(unauthorizedResponse) + respond(okResponse)]
                $0.expectedEvents = ["challenge", "challenge", "response 200", "finished"]
                $0.expectedRequests = ["authorization: Basic dXNlcjp3csO2bmc=", "authorization: Basic dXNlcjpyaWdodA=="]
            },
            Self("a wrong credential, then none") {
                $0.credentials = [wrongAnswer]
                $0.scripts = [respond(unauthorizedResponse) + respond(unauthorizedResponse)]
                $0.expectedEvents = ["challenge", "challenge", "response 401", "data 'no'", "finished"]
            },
            Self("no credential") {
                $0.scripts = [respond(unauthorizedResponse)]
                $0.expectedEvents = ["challenge", "response 401", "data 'no'", "finished"]
            },
            Self("default handling") {
                $0.credentials = [.performDefault]
                $0.scripts = [respond(unauthorizedResponse)]
                $0.expectedEvents = ["challenge", "response 401", "data 'no'", "finished"]
            },
            Self("a rejected realm") {
                $0.credentials = [.rejectProtectionSpace]
                $0.scripts = [respond(unauthorizedResponse)]
                $0.expectedEvents = ["challenge", "failed authenticationRequired"]
            },
            Self("a cancelled challenge") {
                $0.credentials = [.cancel]
                $0.scripts = [respond(unauthorizedResponse)]
                $0.expectedEvents = ["challenge", "failed authenticationCancelled"]
            },
            Self("the URL's user") {
                $0.user = "user:ri%67ht@"
                $0.scripts = [respond(unauthorizedResponse) + respond(okResponse)]
                $0.expectedEvents = ["response 200", "finished"]
                $0.expectedRequests = ["authorization: Basic dXNlcjpyaWdodA=="]
            },
            Self("an unknown scheme") {
                $0.credentials = [correctAnswer]
                $0.scripts = [respond("HTTP/1.1 401 Who\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 2\r\n\r\nno")]
                $0.expectedEvents = ["response 401", "data 'no'", "finished"]
            },
            Self("an upload that is sent again") {
                ($0.method, $0.upload, $0.credentials) = (.put, .bytes(5000), [correctAnswer])
                $0.scripts = [respond(unauthorizedResponse, after: 5000) + respond(okResponse, after: 5000)]
                $0.expectedEvents = ["sent 5000", "challenge", "sent 5000", "response 200", "finished"]
                $0.expectedRequests = ["body 5000 bytes", "authorization", "body 5000 bytes"]
            },
            Self("a stream that can't be rewound") {
                ($0.method, $0.upload, $0.credentials) = (.put, .stream([5000], hasKnownLength: true), [correctAnswer])
                $0.scripts = [respond(unauthorizedResponse, after: 5000) + respond(okResponse, after: 5000)]
                $0.expectedEvents = ["sent 5000", "challenge", "needs a new body", "failed bodyFailed"]
            },
        ]
    }

    // MARK: Faults

    private static var faults: [Self] {
        [
            fault("a body that is cut short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour", .truncated),
            fault("chunks that are cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n", .truncated),
            fault("a chunk that is cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nfour", .truncated),
            fault(
                "trailers that are cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\nX: y\r\n", .truncated
            ),
            fault("a head that is cut short", "HTTP/1.1 200 OK\r\nContent-Le", .truncated),
            fault("no response", "", .emptyResponse),
            fault("a response that is not HTTP", "220 ready\r\n\r\n", .badResponse),
            fault("an invalid status", "HTTP/1.1 0x0 OK\r\n\r\n", .badResponse),
            fault("an invalid length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .badResponse),
            fault("an invalid chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", .badResponse),
            fault("a change of the protocol", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", .badResponse),
        ]
    }

    private static func fault(_ name: String, _ text: String, _ code: LoadError.Code) -> Self {
        Self(name) {
            $0.scripts = [respond(text) + [.halfClose]]
            $0.expectedEvents = ["failed \(code)"]
        }
    }
}
