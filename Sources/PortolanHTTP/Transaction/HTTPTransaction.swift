// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTransport
import PortolanHTTPSyntax

/// One request and its response. The stream that carries them calls these methods.
///
/// Called on the connection's event loop, one call at a time, in this order:
///
///     didSend* · requestIsSent · interim* → response → data* → end(trailers) | failed
///
/// After the result `.stopped`, an end or a failure, no more calls follow. The transaction can call its stream inside
/// these calls.
protocol HTTPTransaction: AnyObject {
    var preparedRequest: PreparedRequest { get }
    /// The body to send; `nil` if there is none. The stream reads it, and the transaction closes it.
    var upload: RequestBodySource? { get }

    /// Bytes of the body were passed to the connection.
    func didSend(bodyBytes: Int)
    /// The whole request, with its body, was passed to the connection.
    func requestIsSent()
    func didReceiveInterim(_ head: ResponseHead)
    /// - Parameter length: the length of the body before decoding; `nil` if it is unknown.
    func didReceive(_ head: ResponseHead, bodyLength length: Int64?) -> Flow
    func didLoad(_ bytes: borrowing RawSpan) -> Flow
    func didEnd(trailers: HTTPFields?, report: TransferReport)
    /// - Parameter eligibility: whether the request can be sent again.
    func didFail(_ error: LoadError, eligibility: RetryEligibility, report: TransferReport)
}

/// Carries a transaction: an HTTP/1.1 connection, or a stream of an HTTP/2 connection. Use it on its event loop only.
protocol HTTPStream: AnyObject {
    /// Sends the request. Called once, before the other methods.
    func sendRequest()
    /// Resumes after the result `.pause`.
    func resumeReading()
    /// Cancels the transaction, which then receives no more calls.
    func cancel()
    /// As ``resumeReading()`` and ``cancel()``, but only if the stream still carries `transaction`. An HTTP/1.1
    /// connection can already carry the next transaction while the previous one receives its end.
    func resumeReading(_ transaction: any HTTPTransaction)
    func cancel(_ transaction: any HTTPTransaction)
    /// Whether the connection has carried another transaction before.
    var isReused: Bool { get }
    /// The current report of the transfer.
    var report: TransferReport { get }
    /// The transport of the connection, for a thread that waits for the load.
    var transport: (any ByteConnection)? { get }
}

extension HTTPStream {
    func resumeReading(_ transaction: any HTTPTransaction) { resumeReading() }
    func cancel(_ transaction: any HTTPTransaction) { cancel() }
}
