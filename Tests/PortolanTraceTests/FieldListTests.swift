// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON
import Testing

@testable import PortolanTrace

/// The fields of a recording.
@Suite struct FieldListTests {
    private func response(_ type: String?, _ fields: HTTPFields) throws -> Response {
        Response(url: try URLRecord(parsing: "x:y"), mimeType: type.flatMap { MIMEType(parsing: $0) }, fields: fields)
    }

    @Test func namesAreLowercaseAndRepeatedFieldsAreKept() throws {
        var fields = HTTPFields()
        for value in ["1", "2"] { fields.append(HTTPField(name: try #require(HTTPField.Name("X-A")), value: value)) }
        #expect(FieldList(fields).json == [["x-a", "1"], ["x-a", "2"]])
    }

    @Test func contentTypeIsTheSerialisedMIMEType() throws {
        let list = FieldList(of: try response("Text/PLAIN; a=\"é\"", [.age: "1", .contentType: "wrong", .date: "2"]))
        #expect(list.json == [["age", "1"], ["content-type", "text/plain;a=\"é\""], ["date", "2"]])
        #expect(FieldList(of: try response("text/html", [.age: "1"])).json == [["content-type", "text/html"], ["age", "1"]])
        #expect(FieldList(of: try response(nil, [.contentType: "???"])).json == [["content-type", "???"]])
    }

    @Test(arguments: [
        ("text/html", "utf-8", "text/html;charset=utf-8"), ("text/html;charset=a", "b", "text/html;charset=a"), ("a/b", nil, "a/b"),
        ("a/b;c=d", "e f", #"a/b;c=d;charset="e f""#),
    ])
    func textEncodingIsAddedAsCharset(type: String, encoding: String?, serialised: String) throws {
        let response = Response(url: try URLRecord(parsing: "x:y"), mimeType: MIMEType(parsing: type), textEncodingName: encoding)
        #expect(FieldList(of: response).json == [["content-type", .string(serialised)]])
    }

    @Test func aKnownLengthIsAddedOnce() throws {
        var list = FieldList(of: Response(url: try URLRecord(parsing: "x:y"), expectedLength: 7))
        list.addLength(of: Response(url: try URLRecord(parsing: "x:y"), expectedLength: 7))
        list.addLength(of: Response(url: try URLRecord(parsing: "x:y"), expectedLength: 8))
        #expect(list.json == [["content-length", "7"]])
    }

    @Test func eachByteOfAFieldIsOneCodePoint() throws {
        let field = try #require(HTTPField(name: .age, latin1: "é\u{FF}"))
        #expect(FieldList([field]).json == [["age", "é\u{FF}"]])
        #expect(HTTPField(name: .age, latin1: "\u{100}") == nil)
        #expect(HTTPField(name: .age, latin1: "a\nb") == nil)
    }
}

extension HTTPFields {
    fileprivate init(_ fields: [HTTPField]) {
        self.init()
        for field in fields { append(field) }
    }
}

extension FieldList {
    fileprivate init(_ fields: [HTTPField]) { self.init(HTTPFields(fields)) }
}
