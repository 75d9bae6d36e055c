// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import Glibc

/// TLS on a socket of the raw loops, as in a C program. OpenSSL reads and writes the socket directly, in reads of 64
/// KiB.
@safe
final class RawTLS: @unchecked Sendable {  // … because the runs of a competitor are sequential
    private let socket: RawSocket
    private let ssl: OpaquePointer

    init(_ target: HTTPTarget) throws {
        guard let security = target.security else { throw MeasurementError("raw: \(target.url) is not for TLS") }
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw Self.failure("SSL_CTX_new") }
        defer { unsafe SSL_CTX_free(context) }
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        unsafe portolan_SSL_CTX_set_read_ahead(context, 1)
        unsafe SSL_CTX_set_default_read_buffer_len(context, 64 << 10)
        guard unsafe SSL_CTX_load_verify_file(context, security.authority) == 1 else { throw Self.failure(security.authority) }
        let offeredProtocols: [UInt8] = security.usesHTTP2 ? [2, UInt8(ascii: "h"), UInt8(ascii: "2")] : [8] + Array("http/1.1".utf8)
        unsafe SSL_CTX_set_alpn_protos(context, offeredProtocols, UInt32(offeredProtocols.count))
        socket = try RawSocket(port: try target.portAndPath().port)
        guard let ssl = unsafe SSL_new(context) else { throw Self.failure("SSL_new") }
        unsafe self.ssl = ssl
        guard unsafe SSL_set_fd(ssl, socket.descriptor) == 1, unsafe SSL_connect(ssl) == 1 else { throw Self.failure("SSL_connect") }
    }

    deinit { unsafe SSL_free(ssl) }

    var descriptor: Int32 { socket.descriptor }

    /// Makes ``read(into:)`` non-blocking.
    func makeNonBlocking() throws {
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { throw RawSocket.failure("fcntl") }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var count = 0
        guard unsafe SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count) == 1, count == bytes.count else {
            throw Self.failure("SSL_write")
        }
    }

    /// - Returns: the number of bytes read; 0 if none are available.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var count = 0
        let status = unsafe SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        guard status != 1 else { return count }
        guard unsafe SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ else { throw Self.failure("SSL_read") }
        return 0
    }

    private static func failure(_ call: String) -> MeasurementError {
        let reason = unsafe ERR_reason_error_string(ERR_peek_last_error()).map { unsafe String(cString: $0) }
        return MeasurementError("raw: \(call): \(reason ?? "no reason given")")
    }
}
