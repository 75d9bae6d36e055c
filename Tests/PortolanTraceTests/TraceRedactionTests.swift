// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON
import PortolanTestSupport
import Testing

@testable import PortolanTrace

/// A recording contains no secrets unless the caller asks to keep them.
@Suite(.timeLimit(.minutes(2))) struct TraceRedactionTests {
    private let redaction = Redaction()

    @Test(arguments: [
        "X-Api-Key", "apikey", "API_KEY", "access_token", "X-Auth-Token", "X-Auth", "client-secret", "password", "Passwd", "user[password]",
        "pwd", "PHPSESSID", "JSESSIONID", "session_id", "sid", "X-Amz-Signature", "X-Amz-Credential", "Authorization",
        "Proxy-Authorization",
        "Cookie", "Set-Cookie", "Set-Cookie2", "X-CSRF-Token", "private_key", "sig", "X-API-KEY", "apiKey", "api_keys", "AWSAccessKeyId",
        "SecretAccessKey", "accesstoken", "accessToken", "refresh_token", "csrfmiddlewaretoken", "authenticity_token", "client_secret",
        "clientSecret", "sessionid", "sessionID", "JSESSIONid", "ASP.NET_SessionId", "ASPSESSIONIDQQ", "sessid", "sess_id", "authkey",
        "auth-key", "XSRF-TOKEN", "_csrf", "secretkey", "endpoint_secret", "url_signature", "payment_method_token", "access_tokens",
        "user_tokens", "admintokens", "my-token-2", "TokenValue", "passwordConfirmation", "password1", "pass_word", "authorization_code",
        "cookies", "credentials", "secrets", "xauthtoken", "X-Auth-User", "connect.sid", "db_pwd", "session_account", "mytokenvalue",
        "tokens[access]", "secretanswer", "X-Authentication",
    ])
    func nameOfASecretIsRecognized(name: String) { #expect(SecretName.isSecret(name.utf8)) }

    /// Paging tokens and counts are not redacted, because they distinguish requests and responses.
    @Test(arguments: [
        "Content-Type", "WWW-Authenticate", "key", "author", "compass", "page", "Location", "design", "x", "", "--",
        "pageToken", "next_page_token", "NextToken", "continuation-token", "max_tokens", "total_tokens", "token_type", "tokenizer",
        "sessions", "Access-Control-Allow-Credentials", "X-RateLimit-Remaining-Tokens", "anthropic-ratelimit-input-tokens-limit",
        "anthropic-ratelimit-tokens-reset", "authorization_endpoint", "token_endpoint", "tokenEndpoint", "end_session_endpoint",
        "check_session_iframe", "token_endpoint_auth_methods_supported", "id_token_signing_alg_values_supported", "tokens_used",
        "tokensUsed", "tokenize", "tokenized", "Tokenizer", "detokenize", "tokenization", "secretary", "secretariat", "possession",
        "X-Author", "token_url", "tokenURL", "session_count", "sessioncount", "signature_method", "SignatureVersion", "signaturealgorithm",
        "maxNewTokens", "maxnewtokens", "cache_read_input_tokens", "prompt_tokens_details", "allow_cookies", "nextSyncToken",
        "nextpagetoken", "bypass", "passenger", "keyboard", "assessment", "monkey", "cookiecutter_url", "token-type",
    ])
    func otherNameIsNotASecret(name: String) { #expect(!SecretName.isSecret(name.utf8)) }

    @Test(arguments: [
        ("http://u:p@h/a", "http://h/a"), ("http://h/?a=1&token=abc/d==&b=2#x", "http://h/?a=1&token=REDACTED&b=2#x"),
        ("http://h/cb#access_token=abc&state=1", "http://h/cb#access_token=REDACTED&state=1"),
        ("http://h/a;jsessionid=1F?b=c", "http://h/a;jsessionid=REDACTED?b=c"),
        ("http://h/?pass%77ord=x", "http://h/?pass%77ord=REDACTED"),
        ("http://h/?next=http%3A%2F%2Fu%3Ap%40i%2F", "http://h/?next=REDACTED"),
        ("http://h/?next=%2Fa%3Ftoken%3Dabc", "http://h/?next=REDACTED"), ("http://h/?token=", "http://h/?token=REDACTED"),
        ("x:y?api_key=1", "x:y?api_key=REDACTED"), ("data:,a?token=1", "data:,a?token=1"),
        ("http://h/token=1/secret", "http://h/token=1/secret"),
        ("http://h/?a=b=c&q=me@x", "http://h/?a=b=c&q=me@x"),
        ("http://h/to/http%3A%2F%2Fu%3Ap%40i%2F/x", "http://h/to/http%3A%2F%2Fi%2F/x"),
        ("http://h/to/http%253A%252F%252Fu%253Ap%2540i%252F", "http://h/to/http%253A%252F%252Fi%252F"),
        ("http://h/web/http://u:p@i/", "http://h/web/http://i/"), ("http://h/%40me/a%2Fb", "http://h/%40me/a%2Fb"),
        ("http://h/?p=%7B%22a%22:%22b=c%22,%22token%22:%22x%22%7D&q=1", "http://h/?p=REDACTED&q=1"),
        ("http://h/?cookies=on&tokens_used=3", "http://h/?cookies=on&tokens_used=3"),
    ])
    func secretsInURLsAreRedacted(text: String, redacted: String) throws {
        let url = redaction.url(try URLRecord(parsing: text))
        #expect(url.description == redacted)
        #expect(redaction.url(url) == url)
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", "a=1&password=x y#z;w&b=2", "a=1&password=REDACTED&b=2"),
        ("application/x-www-form-urlencoded", "token=x", "token=REDACTED"),
        ("application/x-www-form-urlencoded", "u=http://me:x@h/&v=1", "u=http://h/&v=1"),
        ("text/plain", "oauth_token=x&oauth_token_secret=y", "oauth_token=REDACTED&oauth_token_secret=REDACTED"),
        ("", "api_key=x\n", "api_key=REDACTED"),
        ("application/json", #"{"a": 1, "token": "x\"y", "b": ["x"]}"#, #"{"a": 1, "token": "REDACTED", "b": ["x"]}"#),
        (
            "application/vnd.x+json", #"{"secrets":{"a":"x","b":[-1.5e3,true,null]},"c":"d"}"#,
            #"{"secrets":{"a":"REDACTED","b":[0,true,null]},"c":"d"}"#
        ),
        ("", #"[{"p\u0061ssword" : "x"}]"#, #"[{"p\u0061ssword" : "REDACTED"}]"#),
        ("text/html", #"{"u":"http:\/\/me:x@h\/"}"#, #"{"u":"http:\/\/h\/"}"#),
        ("", #"{"u":"http:\u002f\u002fu:x\u0040h\/"}"#, #"{"u":"http:\u002f\u002fh\/"}"#),
        ("", #"{"u":"postgres:\/\/u:x\u0040h\/"}"#, #"{"u":"postgres:\/\/h\/"}"#),
        ("", #"{"u":"http://us\"er:x@h/","v":"http://us\ter:x@h/"}"#, #"{"u":"http://h/","v":"http://h/"}"#),
        ("", #"{"u":"\u0068ttp:\/\/h\/?t\u006fken\u003dx\u0026a=b"}"#, #"{"u":"\u0068ttp:\/\/h\/?t\u006fken\u003dREDACTED\u0026a=b"}"#),
        ("", #"{"u":"http:\/\/h\/http%3A%2F%2Fu%3Ax%40i"}"#, #"{"u":"http:\/\/h\/http%3A%2F%2Fi"}"#),
        ("", #"{"a":"{\"u\":\"http:\\/\\/u:x\\u0040h\"}"}"#, #"{"a":"{\"u\":\"http:\\/\\/h\"}"}"#),
        ("", #"{"a":"[x] http://u:x@h/"}"#, #"{"a":"[x] http://h/"}"#),
        ("application/x-www-form-urlencoded", "[x]=1&password=x", "[x]=1&password=REDACTED"),
        ("", "{x}=1&password=x", "{x}=1&password=REDACTED"), ("application/json", "[x]=1&token=x", "[x]=1&token=REDACTED"),
        ("application/x-www-form-urlencoded", "{x=1&password=x}", "{x=1&password=REDACTED"),
        (
            "application/x-www-form-urlencoded", #"payload={"token":"x","a":"b&c","pin":1}&password=x&q=[1]"#,
            #"payload={"token":"REDACTED","a":"b&c","pin":0}&password=REDACTED&q=[1]"#
        ),
        (
            "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n{\"token\":\"x\"}\r\n--b--",
            "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n{\"token\":\"REDACTED\"}\r\n--b--"
        ),
        ("", "cookies=on&session=off", "cookies=on&session=REDACTED"),
        ("", #"{"cookies":"true","credentials":"x","tokens_used":7}"#, #"{"cookies":"true","credentials":"REDACTED","tokens_used":7}"#),
        ("application/x-ndjson", "{\"token\":\"x\"}\n{\"pin\":12}\n", "{\"token\":\"REDACTED\"}\n{\"pin\":0}\n"),
        ("application/json", #"{"token":"x"#, #"{"token":"REDACTED"#),
        (
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nx\r\ny\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\r\nz\r\n--b--\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nREDACTED\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\r\nz\r\n--b--\r\n"
        ),
        (
            "multipart/form-data; boundary=\"b c\"",
            "--b c\nContent-Disposition: form-data; name*=utf-8''pass%77ord\n\nx\n--b c\nContent-Type: application/json\n\n{\"token\":\"x\"}\n--b c--",
            "--b c\nContent-Disposition: form-data; name*=utf-8''pass%77ord\n\nREDACTED\n--b c\nContent-Type: application/json\n\n{\"token\":\"REDACTED\"}\n--b c--"
        ),
        ("application/x-www-form-urlencoded", #"{"password":"x"}"#, #"{"password":"REDACTED"}"#),
        ("text/plain", "the password=x is here", "the password=x is here"),
        ("application/json", "{\"a\":\"password\"}", "{\"a\":\"password\"}"),
        ("", "\u{FEFF}{\"token\":\"x\"}", "\u{FEFF}{\"token\":\"REDACTED\"}"),
        ("", #"{"next":"http:\/\/h\/?token=x\u0026page=2"}"#, #"{"next":"http:\/\/h\/?token=REDACTED\u0026page=2"}"#),
        ("", #"{"a":"{\"token\":\"x\",\"b\":\"[{\\\"pin\\\":1}]\"}"}"#, #"{"a":"{\"token\":\"REDACTED\",\"b\":\"[{\\\"pin\\\":0}]\"}"}"#),
        ("", #"{"a":"is\n?b=c"}"#, #"{"a":"is\n?b=c"}"#),
        (
            "application/x-www-form-urlencoded", "payload=%7B%22token%22%3A%22x%22%7D&other=%7B%22a%22%3A1%7D",
            "payload=REDACTED&other=%7B%22a%22%3A1%7D"
        ),
    ])
    func secretsInSentBodiesAreRedacted(type: String, body: String, redacted: String) throws {
        let fields: HTTPFields = type.isEmpty ? [:] : [.contentType: type]
        let redactedBody = redaction.sentBody(Array(body.utf8), of: fields)
        #expect(String(decoding: redactedBody, as: UTF8.self) == redacted)
        #expect(redaction.sentBody(redactedBody, of: fields) == redactedBody)
        #expect(Redaction(keepsSecrets: true).sentBody(Array(body.utf8), of: fields) == Array(body.utf8))
    }

    /// In a received body, each byte of a secret is replaced by `*`, so that the length stays the same.
    @Test(arguments: [
        (#"{"u":"http:\u002f\u002fu:x\u0040h\/"}"#, #"{"u":"http:\u002f\u002f***\u0040h\/"}"#),
        (#"{"u":"http://us\"er:x@h/"}"#, #"{"u":"http://********@h/"}"#),
        (#"{"u":"http%3A%2F%2Fu%3Ax%40h"}"#, #"{"u":"http%3A%2F%2F*****%40h"}"#),
        ("[x]=1&password=x", "[x]=1&password=*"),
    ])
    func redactedResponseBodiesKeepTheirLength(body: String, redacted: String) throws {
        var transaction = Transaction(.get, try URLRecord(parsing: "http://h/"), began: 0)
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        let bytes = Array(body.utf8)
        for byte in bytes { transaction.append(.data([byte], count: 1), at: .zero) }
        #expect(String(decoding: transaction.redacted(by: redaction).receivedBody.bytes, as: UTF8.self) == redacted)
    }

    /// Passwords in URLs are removed from a response even if the file keeps other secrets.
    @Test(
        arguments: [true, false],
        [
            #"attachment; filename="http://u:hidden@h""#, #"attachment; filename="http:\/\/u:hidden@h\/x""#,
            #"attachment; filename="postgres:\/\/u:hidden@h""#, "attachment; filename*=utf-8''http%3A%2F%2Fu%3Ahidden%40h",
        ])
    func passwordsInResponsesAreRemoved(keepsSecrets: Bool, disposition: String) throws {
        for name in ["u:hidden@h", "http://u:hidden@h", "http:u:hidden@h"] {
            let url = try URLRecord(parsing: "http://h/http%3A%2F%2Fu%3Ahidden%40h%2F")
            let response = Redaction(keepsSecrets: keepsSecrets).response(
                Response(
                    url: url, mimeType: MIMEType(parsing: "text/html;u=\"http://u:hidden@h/\""), textEncodingName: "http://u:hidden@h/",
                    suggestedFilename: name, fields: [.contentDisposition: disposition]))
            let text = String(decoding: EventJSON.response(response).bytes, as: UTF8.self)
            #expect(!text.contains("hidden"), "\(text)")
            #expect(response.mimeType?.essence == "text/html" && !response.suggestedFilename.isEmpty)
        }
        let plain = Response(url: try URLRecord(parsing: "http://h/"), suggestedFilename: "me@home 1.txt")
        #expect(redaction.response(plain).suggestedFilename == "me@home 1.txt")
    }

    @Test func secretsInJSONFieldsAreRedacted() {
        #expect(redaction.fields([.userAgent: #"{"token":"x"}"#]).map(\.value) == [#"{"token":"REDACTED"}"#])
    }

    @Test func secretsInReasonPhrasesAreRedacted() throws {
        let status = HTTPResponse.Status(code: 302, reasonPhrase: "Go to //us er:hidden@h/?token=hidden")
        let response = redaction.response(Response(url: try URLRecord(parsing: "http://h/"), status: status))
        #expect(response.status?.reasonPhrase.contains("hidden") == false)
    }

    private func transaction() throws -> Transaction {
        var transaction = Transaction(.post, try URLRecord(parsing: "http://u:hidden1@h/?token=hidden2"), began: 0)
        transaction.fields = [.authorization: "hidden3", .contentType: "application/json"]
        transaction.setBody(.bytes(Array(#"{"password":"hidden4"}"#.utf8)))
        var response = Response(url: transaction.url, mimeType: MIMEType(parsing: "application/json"), expectedLength: 24, status: .ok)
        for (name, value) in [
            ("set-cookie", "hidden5"), ("location", "//us er:hidden6@i/"), ("refresh", "0;url=http:/u:hidden7@i/"),
            ("link", "<http:u:hidden8@i/?api_key=hidden9>"), ("x-a", "http:\\\\u:hidden10@i"),
        ] {
            try response.fields.append(recorded: name, value)
        }
        transaction.append(.interim(response), at: .zero)
        transaction.append(.response(response), at: .zero)
        for piece in [#"{"access_tok"#, #"en":"hidd"#, "en\"}"] {
            transaction.append(.data(Array(piece.utf8), count: piece.utf8.count), at: .zero)
        }
        transaction.append(.trailers([.cookie: "hidden"]), at: .zero)
        transaction.append(.finished, at: .zero)
        return transaction
    }

    @Test(arguments: Recording.Form.allCases) func recordingKeepsSecretsOnlyOnRequest(form: Recording.Form) throws {
        var recording = Recording()
        recording.add(try transaction())
        let text = String(decoding: recording.bytes(as: form), as: UTF8.self)
        #expect(!text.contains("hidd"), "\(text)")
        let transactionWithSecrets = try #require(
            try Recording(parsing: recording.bytes(as: form, keepingSecrets: true)).transactions.first)
        #expect(
            transactionWithSecrets.url.description == "http://h/?token=hidden2"
                && transactionWithSecrets.response?.fields[.setCookie] == "hidden5")
        #expect(String(decoding: transactionWithSecrets.receivedBody.bytes, as: UTF8.self) == #"{"access_token":"hidden"}"#)
        #expect(!String(decoding: recording.bytes(as: form, keepingSecrets: true), as: UTF8.self).contains("hidden6"))
    }

    /// A secret that was redacted can be different in each request, so a request with any secret matches.
    @Test(arguments: Recording.Form.allCases) func redactedSecretsAreNotCompared(form: Recording.Form) throws {
        var recording = Recording()
        recording.add(try transaction())
        let replay = ReplayHandler(try Recording(parsing: recording.bytes(as: form)))
        /// The text of the replayed response, or the name of the error code.
        func replayedText(_ url: String, _ body: String) throws -> String {
            let delegate = RecordingDelegate()
            var request = try Request(url, method: .post, body: .text(body))
            request.fields[.contentType] = "application/json"
            loader(replay, StubHandler { _ in .text("") }).task(for: request, delegate: delegate).resume()
            return delegate.error?.code.description ?? delegate.text
        }
        for url in ["http://h/?token=hidden2", "http://h/?token=another", "http://h/?token="] {
            #expect(try replayedText(url, #"{"password":"another one"}"#) == #"{"access_token":"******"}"#)
        }
        #expect(try replayedText("http://h/?token=x", #"{"password":"x","a":1}"#) == "notFound")
        #expect(try replayedText("http://h/?page=x", #"{"password":"x"}"#) == "notFound")
    }

    /// If the recording keeps the secrets, a request matches only with the same secret.
    @Test func keptSecretsAreCompared() throws {
        var recording = Recording()
        for token in ["one", "two"] {
            var transaction = Transaction(.get, try URLRecord(parsing: "http://h/?token=\(token)"), began: 0)
            transaction.append(.response(Response(url: transaction.url)), at: .zero)
            transaction.append(.data(Array(token.utf8), count: 3), at: .zero)
            transaction.append(.finished, at: .zero)
            recording.add(transaction)
        }
        let replay = ReplayHandler(try Recording(parsing: recording.bytes(as: .har, keepingSecrets: true)))
        for token in ["two", "one"] {
            let delegate = RecordingDelegate()
            loader(replay, StubHandler { _ in .text("") }).task(for: try Request("http://h/?token=\(token)"), delegate: delegate).resume()
            #expect(delegate.text == token)
        }
    }

    @Test(arguments: [
        "[\"http:a@b?x=%25\",", "a={", "a={\"b\":[", "%2540", "\\u0040", "http:a=%40", "[", "{\"token\":", "\"\\", "?a=%25", "a=%25?",
        "--b\n", "{\"a\":1,", "&token=", "-1",
    ])
    func hostileBodiesAreRedactedInLinearTime(piece: String) {
        let bytes = Array(String(repeating: piece, count: 30_000 / piece.utf8.count).utf8)
        for type in ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "multipart/mixed", ""] {
            _ = redaction.sentBody(bytes, of: [.contentType: type])
            _ = redaction.text(String(decoding: bytes, as: UTF8.self))
        }
    }
}
