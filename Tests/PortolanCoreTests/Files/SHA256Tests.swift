// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanTestSupport
import Testing

@testable import PortolanCore

@Suite struct SHA256Tests {
    /// The examples that NIST publishes with FIPS 180-4.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func digestsMatchTheNISTExamples(message: String, digest: String) {
        #expect(SHA256.hexadecimal(of: Array(message.utf8)) == digest)
    }

    /// The examples of FIPS 180-4, and messages that are about as long as a block of 64 bytes.
    @Test(arguments: [
        ("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        ("a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        ("a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ("a", 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
    ])
    func incrementalDigestsMatchTheNISTExamples(text: String, count: Int, digest: String) {
        let bytes = Array(String(repeating: text, count: count).utf8)
        for size in [1, 7, 64, 65, 2000] {
            var hash = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) { hash.update(Array(bytes[start..<min(start + size, bytes.count)])) }
            let result = hash.finalize()
            #expect(result.text == digest && SHA256Digest(text: digest) == result)
        }
        #expect(SHA256Digest(text: "x" + digest.dropFirst()) == nil && SHA256Digest(text: "") == nil)
    }

    /// The lengths include all lengths around the ends of blocks of 64 bytes.
    @Test func digestsOfUpTo200BytesMatchSha256sum() throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 4)
        var names: [String] = []
        var digests: [String] = []
        for count in 0...200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            names.append(try folder.write(bytes, to: "\(count)"))
            digests.append(SHA256.hexadecimal(of: bytes))
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
        process.arguments = names
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let lines = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        process.waitUntilExit()
        #expect(lines.map { String($0.prefix(64)) } == digests)
    }
}
