// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanContent
import PortolanCore
import Testing

@Suite struct URLEncodedFormTests {
    /// WHATWG URL §5.2
    @Test(
        arguments: [
            ([], ""), ([("a", "b")], "a=b"), ([("a", ""), ("", "b"), ("", "")], "a=&=b&="), ([("a", "1"), ("a", "2")], "a=1&a=2"),
            ([("a b", "+ %&=")], "a+b=%2B+%25%26%3D"), ([("é", "\u{1F5FA}")], "%C3%A9=%F0%9F%97%BA"), ([("x", "\r\n\0")], "x=%0D%0A%00"),
            ([("~!'()", "*-._")], "%7E%21%27%28%29=*-._"),
        ] as [([(String, String)], String)])
    func pairsAreEncoded(pairs: [(String, String)], encoded: String) {
        var form = URLEncodedForm()
        for (name, value) in pairs { form.append(name, value) }
        #expect(form.encoded == encoded)
    }

    @Test func requestHasTheBodyAndItsType() async throws {
        let request = try Request("x://h/", fields: [.contentType: "text/plain"], form: ["user": "me", "remember": "yes"])
        #expect(request.method == .post)
        #expect(request.field("Content-Type") == "application/x-www-form-urlencoded")
        #expect(try await request.body?.text() == "user=me&remember=yes")
        #expect(request.body?.length == 20)
    }
}
