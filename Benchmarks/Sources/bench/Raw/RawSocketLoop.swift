// SPDX-License-Identifier: Apache-2.0

// The raw loop "raw" of the HTTP/1.1 rows. With one load in flight: send(2), then recv(2) on a blocking socket into one
// buffer of 512 KiB (the size that PortolanHTTP uses), until the body has the length that the head announces. With
// several: the same on one connection each, served when epoll(7) reports it as readable. The tally is taken of each
// piece in place. Over TLS, SSL_write_ex(3) and SSL_read_ex(3) replace the calls.

import CTally
import Glibc

enum RawSocketLoop {
    static let name = "raw"
    static let bufferSize = 512 << 10

    static func competitor(_ target: HTTPTarget, times: Int, amount: Int) throws -> Competitor {
        let (connection, buffer) = (try RawConnection(target), ReceiveBuffer(bufferSize))
        return Competitor(name, amount: amount) {
            var tally = bench_tally()
            for _ in 0..<times {
                var response = RawResponse()
                try connection.sendRequest()
                while unsafe try connection.read(&response, into: buffer.bytes) != true {}
                tally += response.tally
            }
            return tally
        }
    }

    static func competitor(_ target: HTTPTarget, times: Int, inFlight count: Int, amount: Int) throws -> Competitor {
        guard count > 1 else { return try competitor(target, times: times, amount: amount) }
        let (poller, buffer) = (try Poller(), ReceiveBuffer(bufferSize))
        let connections = try (0..<count).map { _ in try RawConnection(target) }
        for (index, connection) in connections.enumerated() {
            try connection.makeNonBlocking()
            try poller.watch(connection.descriptor, as: UInt64(index))
        }
        return Competitor(name, amount: amount) {
            var (tally, sentCount, completedCount) = (bench_tally(), 0, 0)
            var responses = [RawResponse](repeating: RawResponse(), count: count)
            while sentCount < min(count, times) {
                try connections[sentCount].sendRequest()
                sentCount += 1
            }
            while completedCount < times {
                try poller.wait { index in
                    let connection = connections[Int(index)]
                    var isComplete: Bool?
                    repeat {
                        unsafe isComplete = try connection.read(&responses[Int(index)], into: buffer.bytes)
                    } while connection.canHaveBufferedBytes && isComplete == false
                    guard isComplete == true else { return }
                    tally += responses[Int(index)].tally
                    responses[Int(index)] = RawResponse()
                    completedCount += 1
                    guard sentCount < times else { return }
                    try connection.sendRequest()
                    sentCount += 1
                }
            }
            return tally
        }
    }
}

@safe
final class ReceiveBuffer: @unchecked Sendable {  // … because the runs of a competitor are sequential
    let bytes: UnsafeMutableRawBufferPointer

    init(_ size: Int) { unsafe bytes = .allocate(byteCount: size, alignment: 4096) }

    deinit { unsafe bytes.deallocate() }
}
