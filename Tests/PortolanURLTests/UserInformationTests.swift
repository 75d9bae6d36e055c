// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanURL

/// User information is found in each form of a URL that the parser accepts.
@Suite(.timeLimit(.minutes(1))) struct UserInformationTests {
    @Test(arguments: [
        ("//us er:secret@host/a", "//host/a"), ("//us\ter:secret@host", "//host"), ("//us\"er:secret@host/", "//host/"),
        ("//us<er>:secret@host/", "//host/"), ("0;url=http:/user:secret@h/", "0;url=http:/h/"),
        ("<http:user:secret@h/>; rel=x", "<http:h/>; rel=x"),
        ("http:\\\\user:secret@h\\x", "http:\\\\h\\x"), ("  HtTpS:user:secret@h  ", "  HtTpS:h  "),
        ("ht\ntp:/user:secret@h/", "ht\ntp:/h/"),
        ("\\/user:secret@h/", "\\/h/"), ("////user:secret@h/", "////h/"), ("x://us\\er:secret@h/", "x://h/"),
        ("http://u@a:secret@h/", "http://h/"),
        ("ws://u:secret@h, wss:u:secret@i, ftp:/u:secret@j", "ws://i, ftp:/j"),
        ("<http://a>, <http:/u:secret@h/>", "<http://a>, <http:/h/>"),
        ("<http://a/>, <//u:secret@h/>, <http://b/>", "<http://a/>, <//h/>, <http://b/>"), ("http://u%40:sec%2Fret@h/", "http://h/"),
        ("http://[u:secret@h/", "http://h/"), ("http://u:secret@no host/", "http://no host/"), ("xhttp:u:secret@h", "xhttp:h"),
        ("http:/us\u{E9}r:secr\u{E9}t@h/", "http:/h/"), ("http://secret@h", "http://h"),
    ])
    func userInformationIsRemoved(text: String, redacted: String) {
        #expect(UserInformation.removed(from: text, includingReferences: true) == redacted)
    }

    @Test(arguments: [
        "/home/@me", "http://h/@me", "http://h/?to=a@b", "http://h#a@b", "mailto:me@h", "me@h", "file:///a@b", "a // b", "http:", "http://",
        "@", "//@h",
        "http://h\\@x", "x:y@z", "https", "://a@b",
    ])
    func otherTextIsUnchanged(text: String) {
        #expect(UserInformation.removed(from: text) == text)
    }

    /// `UserInformation.removed` changes a text if and only if the parser accepts the text as a URL with credentials.
    @Test(arguments: ["http", "HTTPS", "ftp", "ws", "wss", "file", "x", "postgres", "xhttp", "x+http", "files"])
    func userInformationIsRemovedIfTheParserFindsIt(scheme: String) {
        for slashes in ["", "/", "//", "///", "\\\\", "/\\", "\\/", "//\t/", "/ /"] {
            for user in ["", "u", ":", "u:", ":p", "u:p", "u@", "@", "@@", "/u", "u/", ":/u", "::u", "\\u", "%40", "[", " ", "\n", ":\\:u"]
            {
                let text = "\(scheme):\(slashes)\(user)@host"
                // `try?` because a text that cannot be parsed is not a URL. For `xhttp` and `x+http`, `http:` within
                // the text counts as the scheme.
                let url = try? URLRecord(parsing: scheme.hasSuffix("http") ? "http:\(slashes)\(user)@host" : text)
                let isFound = UserInformation.removed(from: text) != text
                #expect(isFound == (url?.hasCredentials == true && url?.host == "host"), "\(text.debugDescription)")
            }
        }
    }

    @Test func doubleSlashInAPathIsNoURL() {
        #expect(UserInformation.removed(from: "'/tmp//me@home/x' is there") == "'/tmp//me@home/x' is there")
    }

    /// The texts have about 30,000 bytes, like a large header section.
    @Test(arguments: ["http:", "//@", "http://@", "x://@", "a:", "//", "http:a@", "\\\\a", ":", "x://a\\@"])
    func hostileTextsAreScannedInLinearTime(piece: String) {
        let text = String(repeating: piece, count: 30_000 / piece.utf8.count)
        #expect(!UserInformation.removed(from: text + "http://u:secret@h/", includingReferences: true).contains("secret"))
    }
}
