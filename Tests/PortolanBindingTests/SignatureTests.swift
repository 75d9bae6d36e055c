// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanBinding

/// The parser of signatures, and the parser of templates.
@Suite struct SignatureTests {
    static let validSignatures = [
        "void ()", "int8 (int8, uint64)", "Thing? (cstring?, ...)", "cstring freed by thing_free (pointer)",
        "bytes[length] freed by thing_free (int, out size length)", "int (Thing, buffer room[n] filled by m, uint32 n, out uint32 m)",
        "ssize (buffer room[size] filled by result, size size)", "int (out bytes data[n], out size n, callback write, user)",
        "int (out Thing, out cstring?, out bool)", "  int(int   a,int b)  ",
    ]

    @Test(arguments: validSignatures) func validSignatureIsParsed(_ text: String) throws {
        _ = try Signature(parsing: text, as: .function)
    }

    /// The parser refuses each prefix of a signature, and no prefix crashes the process.
    @Test(arguments: validSignatures) func truncatedSignatureIsRefused(_ text: String) {
        let bytes = Array(text.utf8)
        for length in 0..<(bytes.lastIndex(of: UInt8(ascii: ")")) ?? 0) {
            #expect(throws: BindingError.self) {
                try Signature(parsing: String(decoding: bytes[..<length], as: UTF8.self), as: .function)
            }
        }
    }

    /// A signature with one other byte does not crash the parser.
    @Test(arguments: validSignatures) func anyChangedByteIsParsedOrRefused(_ text: String) {
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            for byte in Array(" ()[],.*?aZ0_{\0\n".utf8) + [0x80, 0xC3, 0xFF] {
                var changedBytes = bytes
                changedBytes[index] = byte
                for role in [Signature.Role.function, .callback] {
                    // `try?` because the parser may accept or refuse the text.
                    _ = try? Signature(parsing: String(decoding: changedBytes, as: UTF8.self), as: role)
                }
            }
        }
    }

    @Test(arguments: [
        ("", "a type is needed"), ("int", "'(' is needed, not the end"), ("int (", "a type is needed"), ("int (int", "',' is needed"),
        ("int (int))", "')' follows its end"), ("int (void)", "'void' is not a type"),
        ("int (int a, int a)", "two parameters are called 'a'"),
        ("int (...)", "after at least one parameter"), ("int (int, ..., int)", "')' is needed"), ("int (thing)", "'thing' is not a type"),
        ("int (bytes data)", "'[' is needed"), ("int (bytes data[n])", "no parameter is called 'n'"),
        ("int (bytes data[n], double n)", "must be an integer"), ("int (bytes data[n], cstring n)", "must be an integer"),
        ("int (bytes data[n*m], size n, size m)", "only a callback's length can be a product"),
        ("int (buffer room[n], size n)", "needs 'filled by'"),
        ("int (out bytes data[n], size n)", "must be an integer after 'out'"),
        ("int (buffer room[n] filled by m, size n, size m)", "must be an integer after 'out'"),
        ("bytes[n] (size n)", "must be an integer after 'out'"), ("int freed by f ()", "only a cstring and bytes"),
        ("Thing freed by f ()", "a handle needs a cleanup"), ("int (\(String(repeating: "int, ", count: 16))int)", "over 16 parameters"),
        (String(repeating: " ", count: 1025), "over 1024 bytes"), ("int (int\u{0})", "',' is needed"),
        ("int (callback)", "the name of the callback"),
        (
            "int (buffer room[n] filled by m, bytes data[n], size n, out size m)",
            "'n' is the length of two parameters; give each of them a length parameter"
        ),
        ("int (bytes data[n], buffer room[n] filled by result, size n)", "'n' is the length of two parameters"),
        ("void (buffer b[n] filled by result, size n)", "the result is the number of filled bytes, so it must be an integer"),
        ("double (buffer b[n] filled by result, size n)", "must be an integer"),
        ("bool (buffer b[n] filled by result, size n)", "integer"),
        ("cstring (buffer b[n] filled by result, size n)", "must be an integer"),
        ("bytes[m] (buffer b[n] filled by result, size n, out size m)", "must be an integer"),
        ("int (bytes a[n], bytes b[n], size n)", "'n' is the length of two parameters"),
        ("int (out bytes a[n], out bytes b[n], out size n)", "'n' is the length of two parameters"),
        ("int (buffer a[n] filled by m, size n, out bytes b[m], out size m)", "'m' is the length of two parameters"),
        ("bytes[m] (buffer a[n] filled by m, size n, out size m)", "'m' is the length of two parameters"),
        ("bytes[m] (out bytes a[m], out size m)", "'m' is the length of two parameters"),
    ])
    func errorNamesTheInvalidPart(_ text: String, _ errorText: String) {
        let error = #expect(throws: BindingError.self) { try Signature(parsing: text, as: .function) }
        #expect(error?.message.contains(errorText) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        "cstring (int)", "Thing ()", "int (callback c)", "int (out int)", "int (int, ...)", "int (buffer b[n] filled by result, size n)",
        "int (user, user)",
    ])
    func featuresOfFunctionsAreRefusedInCallbacks(_ text: String) {
        #expect(throws: BindingError.self) { try Signature(parsing: text, as: .callback) }
    }

    @Test func callbackParameterCanBeAFactorOfTwoLengths() throws {
        _ = try Signature(parsing: "int (bytes a[n * n], bytes b[n], size n)", as: .callback)
    }

    @Test(arguments: ["{", "}", "a{b", "{a}}", "{{a}", "{a{b}}"]) func unmatchedBraceIsRefused(_ text: String) {
        #expect(throws: BindingError.self) { try Template(parsing: text) }
    }

    @Test func templateIsSplitIntoPieces() throws {
        #expect(try Template(parsing: "").pieces.isEmpty)
        #expect(try Template(parsing: "{{a}}").pieces == [.literal("{a}")])
        #expect(
            try Template(parsing: "é{a|}-{b|c|d}").pieces == [
                .literal("é"), .name("a", fallback: ""), .literal("-"), .name("b", fallback: "c|d"),
            ])
    }
}
