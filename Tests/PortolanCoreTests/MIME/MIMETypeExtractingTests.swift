// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@Suite struct MIMETypeExtractingTests {
    /// The values of one or several Content-Type fields, and the type that is extracted from them; `nil` if there is
    /// none.
    @Test(
        arguments: [
            (["text/html"], "text/html"),
            (["text/html;charset=gbk"], "text/html;charset=gbk"),
            ([], nil), ([""], nil), (["*/*"], nil), (["x"], nil), ([" , "], nil),
            // The last valid type wins
            (["text/html, text/plain"], "text/plain"),
            (["text/html", "text/plain"], "text/plain"),
            (["text/html", "*/*"], "text/html"), (["text/html, */*;x=y"], "text/html"),
            (["text/plain", ""], "text/plain"), (["text/plain", "x"], "text/plain"), (["", "text/plain,"], "text/plain"),
            // A charset is retained while the essence stays the same
            (["text/plain;charset=gbk", "text/plain"], "text/plain;charset=gbk"),
            (["text/plain;charset=gbk;x=y", "TEXT/plain;z=w"], "text/plain;z=w;charset=gbk"),
            (["text/plain;charset=gbk", "text/plain;charset=windows-1255"], "text/plain;charset=windows-1255"),
            (["text/plain;charset=gbk", "text/plain;charset=windows-1255", "text/plain"], "text/plain;charset=gbk"),
            (["text/plain;charset=gbk", "text/html"], "text/html"),
            (["text/plain;charset=gbk", "text/html", "text/plain"], "text/plain"),
            (["text/html;charset=gbk", "*/*", "text/html"], "text/html;charset=gbk"),
            (["text/html;charset=gbk", "x/x", "text/html;x=y"], "text/html;x=y"),
            // Commas in quotes are no separators
            (["text/html;x=\",text/plain"], "text/html;x=\",text/plain\""),
            (["text/html;x=\"", "text/plain"], "text/html;x=\",text/plain\""),
            (["text/html;charset=gbk", "text/html;x=\",text/plain"], "text/html;x=\",text/plain\";charset=gbk"),
            (["text/html;x=\"a\\\",b\",text/plain"], "text/plain"),
            (["text/html;\" \", \"text/plain\"", "\",\""], "text/html"),
        ] as [([String], String?)])
    func contentTypeFieldsCombineIntoOneType(values: [String], type: String?) {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .contentType, value: value)) }
        #expect(MIMEType(extractedFrom: fields)?.description == type)
    }

    @Test func parameterBytesAreDecodedAsLatin1() throws {
        for bytes in [[0xE4], [0xC3, 0xA4]] as [[UInt8]] {
            let field = HTTPField(name: .contentType, value: Array("text/html;x=".utf8) + bytes)
            var fields = HTTPFields()
            fields.append(field)
            let value = try #require(MIMEType(extractedFrom: fields)?[parameter: "x"])
            #expect(value.unicodeScalars.map { $0.value } == bytes.map(UInt32.init))
        }
    }
}
