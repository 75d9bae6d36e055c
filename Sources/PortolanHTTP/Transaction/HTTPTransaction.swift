// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTransport
import PortolanHTTPSyntax

/// One request and its response: the load's side, which the connection that carries them calls.
///
/// Called on the connection's event loop, one call at a time, in this order:
///
///     didSend* · requestIsSent · interim* → response → data* → end(trailers) | failed
///
/// After a result of `.stopped`, an end or a failure, no more calls follow. Inside any of these calls the exchange may
/// call its carrier.
protocol HTTPTransaction: AnyObject {
    var preparedRequest: PreparedRequest { get }
    /// The body to send; `nil` if there is none. The carrier reads it, and the exchange closes it.
    var upload: RequestBodyWriter? { get }

    /// Bytes of the body were handed to the connection.
    func didSend(bodyBytes: Int)
    /// The request, its body included, was handed to the connection.
    func requestIsSent()
    func didReceiveInterim(_ head: ResponseHead)
    /// - Parameter length: the length of the coded body; `nil` if only the end of the body shows it.
    func didReceive(_ head: ResponseHead, bodyLength length: Int64?) -> Flow
    func didLoad(_ bytes: borrowing RawSpan) -> Flow
    func didEnd(trailers: HTTPFields?, report: TransferReport)
    /// - Parameter eligibility: what became of the request, as far as that is known.
    func didFail(_ error: LoadError, eligibility: RetryEligibility, report: TransferReport)
}

/// Carries an exchange: an HTTP/1.1 connection, or a stream of an HTTP/2 connection. On its event loop only.
protocol HTTPStream: AnyObject {
    /// Sends the request. Called once, before the other methods.
    func start()
    /// Resumes after the result `.pause`.
    func resumeReading()
    /// Cancels the exchange, which receives no more calls.
    func cancel()
    /// As ``resumeReading()`` and ``cancel()``, but only if the carrier still carries `transaction`. A connection may
    /// already carry the next one while the last one receives its end.
    func resumeReading(_ transaction: any HTTPTransaction)
    func cancel(_ transaction: any HTTPTransaction)
    /// Whether its connection has carried another exchange before.
    var isReused: Bool { get }
    /// The report of the transfer so far.
    var report: TransferReport { get }
    /// The transport that the exchange uses, for a thread that waits.
    var transport: (any ByteConnection)? { get }
}

extension HTTPStream {
    func resumeReading(_ transaction: any HTTPTransaction) { resumeReading() }
    func cancel(_ transaction: any HTTPTransaction) { cancel() }
}
