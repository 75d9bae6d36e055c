// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTransport
import PortolanHTTPSyntax

/// One request and its answer, as the connection that carries it sees it: the load's side.
///
/// Called on the connection's event loop, one call at a time, in this order:
///
///     didSend* · requestIsSent · interim* → response → data* → end(trailers) | failed
///
/// After an answer `.stopped`, an end or a failure nothing more comes. Inside any of these calls the exchange may call its carrier.
protocol HTTPTransaction: AnyObject {
    var preparedRequest: PreparedRequest { get }
    /// The body to send; `nil` where there is none. The carrier reads it, the exchange closes it.
    var upload: RequestBodyWriter? { get }

    /// Bytes of the body were handed to the connection.
    func didSend(bodyBytes: Int)
    /// The request, its body included, was handed to the connection.
    func requestIsSent()
    func didReceiveInterim(_ head: ResponseHead)
    /// - Parameter length: of the body, as coded; `nil` where only its end tells.
    func didReceive(_ head: ResponseHead, bodyLength length: Int64?) -> Flow
    func didLoad(_ bytes: borrowing RawSpan) -> Flow
    func didEnd(trailers: HTTPFields?, report: TransferReport)
    /// - Parameter eligibility: what became of the request, as far as that is known.
    func didFail(_ error: LoadError, eligibility: RetryEligibility, report: TransferReport)
}

/// What carries an exchange: an HTTP/1.1 connection, or a stream of an HTTP/2 one. On its event loop only.
protocol HTTPStream: AnyObject {
    /// Sends the request. Once, at first.
    func start()
    /// Goes on after the answer `.pause`.
    func resumeReading()
    /// The exchange is over for the load; it hears nothing more.
    func cancel()
    /// As ``resumeReading()`` and ``cancel()``, but only where the carrier still carries `transaction`: a connection may carry the next one already
    /// while the last one is told of its end.
    func resumeReading(_ transaction: any HTTPTransaction)
    func cancel(_ transaction: any HTTPTransaction)
    /// Whether its connection has carried another exchange before.
    var isReused: Bool { get }
    /// What went over the wire so far.
    var report: TransferReport { get }
    /// Over which it goes, for a thread that waits.
    var transport: (any ByteConnection)? { get }
}

extension HTTPStream {
    func resumeReading(_ transaction: any HTTPTransaction) { resumeReading() }
    func cancel(_ transaction: any HTTPTransaction) { cancel() }
}
