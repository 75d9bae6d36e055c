// SPDX-License-Identifier: Apache-2.0

import CTally
import PortolanCore
import PortolanStreams
import PortolanTransport

/// 1 GiB that nginx sends over a connection, which a thread reads from an input stream, in place. Beside the raw loop,
/// which does the same on a socket, or with OpenSSL.
enum SocketStreamRows {
    private static let size = 1 << 30

    static func tcp(_ fixture: Fixture) throws -> Row { try row(try fixture.target(size)) }
    static func tls(_ fixture: Fixture) throws -> Row { try row(try fixture.secureTarget(size, usesHTTP2: false)) }

    private static func row(_ target: HTTPTarget) throws -> Row {
        let (port, path) = try target.portAndPath()
        let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUser-Agent: stream\r\nAccept: */*\r\n\r\n".utf8)
        var configuration = SocketConfiguration()
        configuration.bufferSize = RawSocketLoop.bufferSize
        if let security = target.security {
            configuration.isSecure = true
            configuration.tls.trustRoots = .only([.file(path: security.authority)])
            configuration.applicationProtocols = ["http/1.1"]
        }
        let subject = Competitor("portolan", amount: size) { [configuration] in
            try await BlockingThread.run {
                let socket = SocketStreams(toHost: "127.0.0.1", port: Int(port), configuration: configuration)
                defer {
                    socket.output.close()
                    socket.input.close()
                }
                socket.input.open()
                socket.output.open()
                try socket.output.write(all: request)
                return try tally(of: socket.input)
            }
        }
        return Row(
            unit: .gigabytesPerSecond, subject: subject, peers: [try RawSocketLoop.competitor(target, times: 1, amount: size)],
            budget: .atLeast(0.9, of: RawSocketLoop.name))
    }

    private static func tally(of input: ByteInputStream) throws -> bench_tally {
        var response = RawResponse()
        var progress = Result<Bool, any Error>.success(false)
        while try !progress.get() {
            let hasBytes = try input.withAvailableBytes { bytes in
                unsafe bytes.withUnsafeBytes { bytes in progress = Result { unsafe try response.consume(bytes) } }
                return bytes.byteCount
            }
            guard hasBytes else { throw MeasurementError("nginx closed the connection before the end of the body") }
        }
        return response.tally
    }
}
