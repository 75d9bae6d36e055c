// SPDX-License-Identifier: Apache-2.0

import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A pair of connected sockets: one for a plugin, one for the test.
final class WatchedSocketPair: Sendable {
    let pluginSocket, testSocket: CInt

    init() throws {
        var descriptors: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        try #require(unsafe socketpair(AF_UNIX, type, 0, &descriptors) == 0)
        (pluginSocket, testSocket) = (descriptors[0], descriptors[1])
    }

    deinit {
        close(pluginSocket)
        close(testSocket)
    }

    func send(_ text: String) { Self.send(text, to: testSocket) }

    static func send(_ text: String, to socket: CInt) {
        let bytes = Array(text.utf8)
        #expect(unsafe write(socket, bytes, bytes.count) == bytes.count)
    }

    /// Reads a line and returns it without the newline.
    static func line(from socket: CInt) -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while unsafe read(socket, &byte, 1) == 1, byte != 0x0A { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }
}
