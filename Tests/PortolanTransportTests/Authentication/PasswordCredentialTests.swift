// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanTransport

@Suite("Encoding of user names and passwords")
struct PasswordCredentialTests {
    /// The first two rows are the examples of RFC 7617 §2 and §2.1.
    @Test(arguments: [
        ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "Basic dGVzdDoxMjPCow=="),
        ("", "", "Basic Og=="),
        ("a", ":b:", "Basic YTo6Yjo="),
    ])
    func basicIsBase64OfUTF8(_ user: String, _ password: String, _ value: String) throws {
        #expect(try PasswordCredential(user: user, password: password).basicValue() == value)
    }

    @Test(arguments: [("a:b", "c"), ("a\r\nX: y", "c"), ("a", "b\nc"), ("a", "\0"), ("\u{7F}", ""), ("a", "\u{85}")])
    func credentialsThatBasicCannotEncodeAreRefused(_ user: String, _ password: String) {
        #expect(throws: LoadError.self) { try PasswordCredential(user: user, password: password).basicValue() }
    }

    @Test func messagesAndDumpsHideThePassword() {
        let credential = PasswordCredential(user: "ann:\u{1B}[31m" + String(repeating: "n", count: 100), password: "s3cret")
        let error = #expect(throws: LoadError.self) { try credential.basicValue() }
        var dumped = ""
        dump(credential, to: &dumped)
        for text in [error?.message ?? "s3cret", "\(credential)", String(reflecting: credential), dumped] {
            #expect(!text.contains("s3cret") && !text.contains("\u{1B}") && text.utf8.count < 300, "\(text)")
        }
    }

    @Test(arguments: [(1, 0), (1, 255), (255, 255)])
    func socksMessageHasLengthPrefixes(_ userLength: Int, _ passwordLength: Int) throws {
        let credential = PasswordCredential(
            user: String(repeating: "u", count: userLength), password: String(repeating: "p", count: passwordLength))
        #expect(
            try credential.socksMessage() == [1, UInt8(userLength)] + [UInt8](repeating: 0x75, count: userLength) + [UInt8(passwordLength)]
                + [UInt8](repeating: 0x70, count: passwordLength))
    }

    @Test(arguments: [(0, 1), (256, 1), (1, 256)])
    func credentialsThatSOCKSCannotEncodeAreRefused(_ userLength: Int, _ passwordLength: Int) {
        let credential = PasswordCredential(
            user: String(repeating: "u", count: userLength), password: String(repeating: "p", count: passwordLength))
        #expect(throws: LoadError.self) { try credential.socksMessage() }
    }
}
