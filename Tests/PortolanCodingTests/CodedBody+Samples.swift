// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport

extension CodedBody {
    static let hello = Array("Hello, hello, hello!\n".utf8)

    /// `hello` as Python encodes it in gzip, in zlib and as a raw DEFLATE stream.
    static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2,
        0x14, 0xB9, 0x00, 0xBB, 0xC7, 0x53, 0xED, 0x15, 0x00, 0x00, 0x00,
    ]
    static let zlib: [UInt8] = [
        0x78, 0x9C, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2, 0x14, 0xB9, 0x00, 0x4F, 0x7E, 0x06, 0xE0,
    ]
    static let raw: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2, 0x14, 0xB9, 0x00]
    /// With an extra field, a name, a comment and a checksum of the head.
    static let gzipWithAllFields: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x1E, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x05, 0x00, 0x41, 0x50, 0x01, 0x00, 0x78, 0x6E, 0x61, 0x6D,
        0x65, 0x2E, 0x74, 0x78, 0x74, 0x00, 0x61, 0x20, 0x63, 0x6F, 0x6D, 0x6D, 0x65, 0x6E, 0x74, 0x00, 0x84, 0x49, 0xF3, 0x48,
        0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x40, 0xA2, 0x14, 0xB9, 0x00, 0xBB, 0xC7, 0x53, 0xED, 0x15, 0x00, 0x00, 0x00,
    ]
    static let gzipOfNothing: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ]
    static let zlibWithDictionary: [UInt8] = [
        0x78, 0xF9, 0x09, 0xEE, 0x02, 0x41, 0xF3, 0x80, 0x50, 0x19, 0x48, 0x94, 0x22, 0x17, 0x00, 0x4F, 0x7E, 0x06, 0xE0,
    ]
    static let rawOfGzip = Deflated.make(gzip + [0], .none)
    /// Longer than two buffers, with matches of every size.
    static let long: [UInt8] = {
        var generator = SeededGenerator(seed: 5)
        return (0..<400).flatMap { Array(repeating: UInt8(truncatingIfNeeded: $0), count: $0) + generator.bytes(17) }
    }()

    /// Bodies with correct codings.
    static let valid: [CodedBody] = [
        CodedBody("gzip", "gzip", gzip, hello),
        CodedBody("x-gzip", "x-gzip", gzip, hello),
        CodedBody("gzip in capitals", "GZIP", gzip, hello),
        CodedBody("all fields", "gzip", gzipWithAllFields, hello),
        CodedBody("gzip of nothing", "gzip", gzipOfNothing, []),
        CodedBody("no bytes", "gzip", [], []),
        CodedBody("no bytes for deflate", "deflate", [], []),
        CodedBody("no bytes for three codings", "gzip, deflate, gzip", [], []),
        CodedBody("an empty body inside another coding", "gzip, gzip", gzipOfNothing, []),
        CodedBody("two members", "gzip", gzip + gzipWithAllFields, hello + hello),
        CodedBody("empty members", "gzip", gzipOfNothing + gzip + gzipOfNothing + gzip, hello + hello),
        CodedBody("zeros after it", "gzip", gzip + [0, 0, 0], hello),
        CodedBody("rubbish after it", "gzip", gzip + hello, hello),
        CodedBody("rubbish after two members", "gzip", gzip + gzip + hello, hello + hello),
        CodedBody("half of a member's magic number after it", "gzip", gzip + [0x1F], hello),
        CodedBody("rubbish that begins like a member", "gzip", gzip + [0x1F, 0x1F, 0x8B] + gzip, hello),
        CodedBody("a member after rubbish", "gzip", gzip + [0] + gzip, hello),
        CodedBody("deflate", "deflate", zlib, hello),
        CodedBody("deflate, raw", "deflate", raw, hello),
        CodedBody("rubbish after deflate", "deflate", zlib + zlib, hello),
        CodedBody("rubbish after raw deflate", "deflate", raw + raw, hello),
        CodedBody("stored block", "deflate", [0x01, 0x02, 0x00, 0xFD, 0xFF, 0x68, 0x69], Array("hi".utf8)),
        CodedBody("empty, raw", "deflate", [0x03, 0x00], []),
        CodedBody("two codings", "deflate, gzip", Deflated.make(zlib, .gzip), hello),
        CodedBody("two codings, the other way", "gzip, deflate", Deflated.make(gzip, .none), hello),
        CodedBody("five codings", "gzip,gzip,gzip,gzip,gzip", (0..<4).reduce(gzip) { coded, _ in Deflated.make(coded, .gzip) }, hello),
        CodedBody("identity among them", "gzip, identity,, deflate", Deflated.make(gzip, .zlib), hello),
        CodedBody("rubbish after each of two", "gzip, deflate", rawOfGzip + [7], hello),
        CodedBody("long", "gzip", Deflated.make(long, .gzip), long),
        CodedBody("long, in two members", "gzip", Deflated.make(long, .gzip) + Deflated.make(long, .gzip, level: 1), long + long),
        CodedBody("long, in two codings", "gzip, deflate", Deflated.make(Deflated.make(long, .gzip, level: 0), .none), long),
    ]

    /// Bodies with incorrect codings.
    static let malformed: [CodedBody] = [
        CodedBody("no gzip", "gzip", hello, [], .decodingFailed, "gzip coding is malformed after 2 bytes (incorrect header check)"),
        CodedBody("unknown method", "gzip", [0x1F, 0x8B, 0x07, 0, 0, 0, 0, 0, 0, 0], [], .decodingFailed, "unknown compression method"),
        CodedBody("reserved flags", "gzip", [0x1F, 0x8B, 0x08, 0xE0, 0, 0, 0, 0, 0, 0], [], .decodingFailed, "unknown header flags set"),
        CodedBody("head checksum", "gzip", changed(gzipWithAllFields, at: 36), [], .decodingFailed, "header crc mismatch"),
        CodedBody("checksum", "gzip", changed(gzip, at: 23), hello, .decodingFailed, "incorrect data check"),
        CodedBody("length", "gzip", changed(gzip, at: 27), hello, .decodingFailed, "incorrect length check"),
        CodedBody("checksum of deflate", "deflate", changed(zlib, at: 18), hello, .decodingFailed, "incorrect data check"),
        CodedBody(
            "checksum of the second member", "gzip", gzip + changed(gzip, at: 23), hello + hello, .decodingFailed, "incorrect data check"),
        CodedBody("second member of another method", "gzip", gzip + [0x1F, 0x8B, 0x07, 0], hello, .decodingFailed, "unknown compression"),
        CodedBody("reserved block type", "deflate", [0x07], [], .decodingFailed, "invalid block type"),
        CodedBody(
            "distance before the start", "deflate", [0x4B, 0x04, 0x22, 0x00], [UInt8(ascii: "a")], .decodingFailed, "distance too far back"),
        CodedBody("dictionary", "deflate", zlibWithDictionary, [], .decodingFailed, "a preset dictionary is needed"),
        CodedBody(
            "inner coding", "gzip, deflate", Deflated.make(hello, .zlib), [], .decodingFailed, "gzip coding is malformed after 2 bytes"),
        CodedBody(
            "inner coding that is cut", "gzip, deflate", Deflated.make(gzip.dropLast(1), .zlib), hello, .truncated, "its gzip coding"),
        CodedBody(
            "checksum after much", "gzip", changed(Deflated.make(long, .gzip), atEnd: 5), long, .decodingFailed, "incorrect data check"),
    ]

    static func changed(_ bytes: [UInt8], at index: Int) -> [UInt8] {
        var bytes = bytes
        bytes[index] ^= 1
        return bytes
    }

    static func changed(_ bytes: [UInt8], atEnd distance: Int) -> [UInt8] { changed(bytes, at: bytes.count - distance) }
}

extension Deflated {
    static func make(_ contents: ArraySlice<UInt8>, _ wrapping: Wrapping) -> [UInt8] { make(Array(contents), wrapping) }
}
