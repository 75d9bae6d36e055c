// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport

extension CodedBody {
    static let hello = Array("Hello, hello, hello!\n".utf8)

    /// The bytes of `hello` in the gzip format. Python encoded them, and also the other samples in hexadecimal.
    static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2,
        0x14, 0xB9, 0x00, 0xBB, 0xC7, 0x53, 0xED, 0x15, 0x00, 0x00, 0x00,
    ]
    /// The bytes of `hello` in the zlib format, which is the standard format of the coding `deflate`.
    static let zlib: [UInt8] = [
        0x78, 0x9C, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2, 0x14, 0xB9, 0x00, 0x4F, 0x7E, 0x06, 0xE0,
    ]
    /// The bytes of `hello` as a DEFLATE stream without the zlib format. Some servers send it as the coding `deflate`.
    static let rawDeflate: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2, 0x14, 0xB9, 0x00]
    /// The bytes of `hello` in the gzip format, with all optional header fields: an extra field, a file name, a comment
    /// and a checksum of the header.
    static let gzipWithOptionalFields: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x1E, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x05, 0x00, 0x41, 0x50, 0x01, 0x00, 0x78, 0x6E, 0x61, 0x6D,
        0x65, 0x2E, 0x74, 0x78, 0x74, 0x00, 0x61, 0x20, 0x63, 0x6F, 0x6D, 0x6D, 0x65, 0x6E, 0x74, 0x00, 0x84, 0x49, 0xF3, 0x48,
        0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2, 0x14, 0xB9, 0x00, 0xBB, 0xC7, 0x53, 0xED, 0x15, 0x00, 0x00, 0x00,
    ]
    /// Zero bytes in the gzip format.
    static let gzipOfEmptyContents: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ]
    /// The bytes of `hello` in the zlib format, compressed with a preset dictionary.
    static let zlibWithDictionary: [UInt8] = [
        0x78, 0xF9, 0x09, 0xEE, 0x02, 0x41, 0xF3, 0x80, 0x50, 0x19, 0x48, 0x94, 0x22, 0x17, 0x00, 0x4F, 0x7E, 0x06, 0xE0,
    ]
    /// A raw DEFLATE stream that contains `gzip` and one ignored byte.
    static let rawDeflateOfGzip = Zlib.compress(gzip + [0], .raw)
    /// Contents longer than two output buffers. They have repetitions of every length that DEFLATE can refer to.
    static let longContents: [UInt8] = {
        var generator = SeededGenerator(seed: 5)
        return (0..<400).flatMap { Array(repeating: UInt8(truncatingIfNeeded: $0), count: $0) + generator.bytes(17) }
    }()

    /// Bodies that can be decoded.
    static let validBodies: [CodedBody] = [
        CodedBody("gzip", "gzip", gzip, hello),
        CodedBody("x-gzip", "x-gzip", gzip, hello),
        CodedBody("gzip in capitals", "GZIP", gzip, hello),
        CodedBody("gzip with all optional header fields", "gzip", gzipWithOptionalFields, hello),
        CodedBody("gzip of empty contents", "gzip", gzipOfEmptyContents, []),
        CodedBody("no bytes for gzip", "gzip", [], []),
        CodedBody("no bytes for deflate", "deflate", [], []),
        CodedBody("no bytes for three codings", "gzip, deflate, gzip", [], []),
        CodedBody("two gzip codings, with an empty inner body", "gzip, gzip", gzipOfEmptyContents, []),
        CodedBody("two gzip members", "gzip", gzip + gzipWithOptionalFields, hello + hello),
        CodedBody("empty gzip members between others", "gzip", gzipOfEmptyContents + gzip + gzipOfEmptyContents + gzip, hello + hello),
        CodedBody("zeros after a gzip member", "gzip", gzip + [0, 0, 0], hello),
        CodedBody("ignored bytes after a gzip member", "gzip", gzip + hello, hello),
        CodedBody("ignored bytes after two gzip members", "gzip", gzip + gzip + hello, hello + hello),
        CodedBody("half of the gzip magic number after a member", "gzip", gzip + [0x1F], hello),
        CodedBody("ignored bytes that begin like a gzip member", "gzip", gzip + [0x1F, 0x1F, 0x8B] + gzip, hello),
        CodedBody("a gzip member after an ignored byte", "gzip", gzip + [0] + gzip, hello),
        CodedBody("deflate in the zlib format", "deflate", zlib, hello),
        CodedBody("raw deflate", "deflate", rawDeflate, hello),
        CodedBody("ignored bytes after deflate in the zlib format", "deflate", zlib + zlib, hello),
        CodedBody("ignored bytes after raw deflate", "deflate", rawDeflate + rawDeflate, hello),
        CodedBody("raw deflate with an uncompressed block", "deflate", [0x01, 0x02, 0x00, 0xFD, 0xFF, 0x68, 0x69], Array("hi".utf8)),
        CodedBody("raw deflate of empty contents", "deflate", [0x03, 0x00], []),
        CodedBody("deflate, then gzip", "deflate, gzip", Zlib.compress(zlib, .gzip), hello),
        CodedBody("gzip, then deflate", "gzip, deflate", Zlib.compress(gzip, .raw), hello),
        CodedBody("gzip five times", "gzip,gzip,gzip,gzip,gzip", (0..<4).reduce(gzip) { bytes, _ in Zlib.compress(bytes, .gzip) }, hello),
        CodedBody(
            "identity and an empty list element between gzip and deflate", "gzip, identity,, deflate", Zlib.compress(gzip, .zlib), hello),
        CodedBody("an ignored byte after each of two codings", "gzip, deflate", rawDeflateOfGzip + [7], hello),
        CodedBody("long contents", "gzip", Zlib.compress(longContents, .gzip), longContents),
        CodedBody(
            "long contents in two gzip members", "gzip", Zlib.compress(longContents, .gzip) + Zlib.compress(longContents, .gzip, level: 1),
            longContents + longContents),
        CodedBody(
            "long contents in two codings", "gzip, deflate", Zlib.compress(Zlib.compress(longContents, .gzip, level: 0), .raw), longContents
        ),
    ]

    /// Bodies whose decoding fails. The contents are the bytes before the error.
    static let malformedBodies: [CodedBody] = [
        CodedBody(
            "not in the gzip format", "gzip", hello, [], .decodingFailed, "gzip coding is malformed after 2 bytes (incorrect header check)"),
        CodedBody(
            "unknown gzip compression method", "gzip", [0x1F, 0x8B, 0x07, 0, 0, 0, 0, 0, 0, 0], [], .decodingFailed,
            "unknown compression method"),
        CodedBody(
            "reserved gzip flags", "gzip", [0x1F, 0x8B, 0x08, 0xE0, 0, 0, 0, 0, 0, 0], [], .decodingFailed, "unknown header flags set"),
        CodedBody(
            "wrong checksum of the gzip header", "gzip", withInvertedBit(gzipWithOptionalFields, at: 36), [], .decodingFailed,
            "header crc mismatch"),
        CodedBody(
            "wrong checksum of the gzip contents", "gzip", withInvertedBit(gzip, at: 23), hello, .decodingFailed, "incorrect data check"),
        CodedBody(
            "wrong length of the gzip contents", "gzip", withInvertedBit(gzip, at: 27), hello, .decodingFailed, "incorrect length check"),
        CodedBody(
            "wrong checksum in the zlib format", "deflate", withInvertedBit(zlib, at: 18), hello, .decodingFailed, "incorrect data check"),
        CodedBody(
            "wrong checksum of the second gzip member", "gzip", gzip + withInvertedBit(gzip, at: 23), hello + hello, .decodingFailed,
            "incorrect data check"),
        CodedBody(
            "unknown compression method of the second gzip member", "gzip", gzip + [0x1F, 0x8B, 0x07, 0], hello, .decodingFailed,
            "unknown compression"),
        CodedBody("reserved DEFLATE block type", "deflate", [0x07], [], .decodingFailed, "invalid block type"),
        CodedBody(
            "DEFLATE distance that exceeds the output", "deflate", [0x4B, 0x04, 0x22, 0x00], [UInt8(ascii: "a")], .decodingFailed,
            "distance too far back"),
        CodedBody("preset dictionary", "deflate", zlibWithDictionary, [], .decodingFailed, "a preset dictionary is needed"),
        CodedBody(
            "inner bytes that are not in the gzip format", "gzip, deflate", Zlib.compress(hello, .zlib), [], .decodingFailed,
            "gzip coding is malformed after 2 bytes"),
        CodedBody(
            "truncated inner gzip member", "gzip, deflate", Zlib.compress(gzip.dropLast(1), .zlib), hello, .truncated, "its gzip coding"),
        CodedBody(
            "wrong checksum after long contents", "gzip", withInvertedBit(Zlib.compress(longContents, .gzip), distanceFromEnd: 5),
            longContents, .decodingFailed, "incorrect data check"),
    ]

    /// Returns the bytes with one bit of the byte at the index inverted.
    static func withInvertedBit(_ bytes: [UInt8], at index: Int) -> [UInt8] {
        var bytes = bytes
        bytes[index] ^= 1
        return bytes
    }

    /// Returns the bytes with one bit inverted. The byte with that bit has the given distance from the end.
    static func withInvertedBit(_ bytes: [UInt8], distanceFromEnd: Int) -> [UInt8] {
        withInvertedBit(bytes, at: bytes.count - distanceFromEnd)
    }
}

extension Zlib {
    static func compress(_ contents: ArraySlice<UInt8>, _ wrapping: Wrapping) -> [UInt8] { compress(Array(contents), wrapping) }
}
