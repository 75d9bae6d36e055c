// SPDX-License-Identifier: Apache-2.0

import PortolanURL
import Testing

@Suite struct URLHostTests {
    @Test(arguments: [
        ("EXAMPLE.Com", "example.com"), ("ex%41mple%2eorg", "example.org"), ("a..b", "a..b"), ("a.", "a."), ("a_b-c", "a_b-c"),
        ("~a`{}*'()", "~a`{}*'()"),
        ("xn--bcher-kva.de", "xn--bcher-kva.de"), ("1e3", "1e3"), ("1.2.3.4a", "1.2.3.4a"), ("09a", "09a"), (".", "."), ("1..", "1.."),
        ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("1", "0.0.0.1"), ("0x7F.1", "127.0.0.1"), ("0x", "0.0.0.0"),
        ("017700000001", "127.0.0.1"),
        ("4294967295", "255.255.255.255"), ("1.2.3.4.", "1.2.3.4"), ("1.0xffffff", "1.255.255.255"), ("0.0.0.00", "0.0.0.0"),
        ("%30x7f.1", "127.0.0.1"),
        ("192.0x00A80001", "192.168.0.1"),
        ("[::1]", "[::1]"), ("[1:2::7:8]", "[1:2::7:8]"), ("[0:0:0:0:0:0:0:0]", "[::]"), ("[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"),
        ("[1:0:0:2:3:0:0:4]", "[1::2:3:0:0:4]"), ("[1:0:2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]"), ("[ABCD:00ef::]", "[abcd:ef::]"),
        ("[::1.2.3.4]", "[::102:304]"),
        ("[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]"), ("[::2:3:4:5:6:7:8]", "[0:2:3:4:5:6:7:8]"),
        ("[1:2:3:4:5:6:1.2.3.4]", "[1:2:3:4:5:6:102:304]"),
        ("[1:2:3:4:5:6::8]", "[1:2:3:4:5:6:0:8]"), ("[::0]", "[::]"),
    ])
    func hostOfASpecialSchemeIsCanonical(host: String, expected: String) throws {
        #expect(try URLRecord(parsing: "http://\(host)/").host.map(String.init) == expected)
    }

    @Test(arguments: [
        ("EXAMPLE", "EXAMPLE"), ("%41", "%41"), ("1.2", "1.2"), ("é", "%C3%A9"), ("a\u{1}b", "a%01b"), ("a\"'`{}~", "a\"'`{}~"),
        ("%zz", "%zz"), ("[::A]", "[::a]"),
        ("localhost", "localhost"), ("", ""),
    ])
    func opaqueHostIsOnlyPercentEncoded(host: String, expected: String) throws {
        #expect(try URLRecord(parsing: "foo://\(host)/").host.map(String.init) == expected)
    }

    @Test(arguments: Array("\0\t\n\r #/:<>?@[\\]^|%".unicodeScalars)) func forbiddenCharactersNeverReachAHost(scalar: Unicode.Scalar) {
        for scheme in ["http", "foo", "file"] {
            let host = (try? URLRecord(parsing: "\(scheme)://a\(scalar)b/"))?.host ?? ""
            #expect(!host.unicodeScalars.contains(scalar) || (scalar == "%" && scheme == "foo"), "\(scheme)")
        }
    }

    @Test func percentEncodedForbiddenBytesAreRefusedInDomains() {
        for byte in UInt8(0)...0x7F where !(byte == 0x2D || byte == 0x2E || byte == 0x5F) {
            let digits = String(byte, radix: 16)
            let text = "http://a%\(digits.count == 1 ? "0" : "")\(digits)b/"
            let isAllowed = (try? URLRecord(parsing: text)) != nil
            let character = Unicode.Scalar(byte)
            #expect(
                isAllowed == (character.value > 0x20 && character.value < 0x7F && !"#%/:<>?@[\\]^|".unicodeScalars.contains(character)),
                "\(text)")
        }
    }
}
