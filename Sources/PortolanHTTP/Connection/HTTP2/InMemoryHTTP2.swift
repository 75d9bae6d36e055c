// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// An HTTP/2 connection in memory, for fuzzers, which have no sockets. The owner sends and receives the server's bytes.
/// Use it in one thread.
@_spi(Fuzzing) public final class InMemoryHTTP2 {
    /// The events of a load, in the order of ``HTTPTransaction``.
    public enum Event: Equatable {
        /// A number of body bytes was sent.
        case sent(Int)
        case requestIsSent
        /// The status of an interim response.
        case interim(Int)
        /// The status, and the name and value of each field, in ISO-8859-1.
        case head(Int, fields: [[String]], length: Int64?)
        case data([UInt8])
        case end(trailers: [[String]])
        case failed(LoadError, Eligibility)
    }

    /// ``RetryEligibility`` without the information about other requests.
    public enum Eligibility: Equatable {
        case possiblyProcessed, noResponse, refused, notProcessed, needsHTTP1

        fileprivate init(_ eligibility: RetryEligibility) {
            switch eligibility {
            case .possiblyProcessed: self = .possiblyProcessed
            case .noResponse: self = .noResponse
            case .refused: self = .refused
            case .notProcessed: self = .notProcessed
            case .needsHTTP1: self = .needsHTTP1
            }
        }
    }

    private let loop = InMemoryEventLoop()
    private let transport: InMemoryByteConnection
    private let connection: HTTP2Connection
    private let configuration: HTTPConfiguration
    private let observe: (Int, Event) -> Flow
    private var streams: [any HTTPStream] = []
    /// A stream that is never started. It keeps the connection open, because a connection without a pool closes when it
    /// has no streams.
    private var idleStream: (any HTTPStream)?

    /// - Parameter observe: receives the number of a request, from 0, and an event of its transaction. The result is
    ///   used for a head and for data.
    public init(_ configuration: HTTPConfiguration, observe: @escaping (Int, Event) -> Flow) {
        self.configuration = configuration
        self.observe = observe
        let key = ConnectionKey(isSecure: true, host: "example.org", port: 443, proxy: nil)
        connection = HTTP2Connection(key: key, configuration: configuration, report: TransferReport(networkProtocol: "h2"), trust: nil)
        transport = InMemoryByteConnection(on: loop, for: connection)
        connection.attach(to: nil, over: transport)
    }

    /// Sends a request, on the next stream.
    public func start(_ request: Request) throws(LoadError) {
        let transaction = InMemoryTransaction(
            try PreparedRequest(request, configuration: configuration),
            upload: try request.body.map { body throws(LoadError) in try RequestBodySource(body) }
        ) { [observe, number = streams.count] in observe(number, $0) }
        if idleStream == nil { idleStream = connection.beginTransaction(transaction) }
        let stream = connection.beginTransaction(transaction)
        streams.append(stream)
        stream.sendRequest()
        loop.run()
    }

    /// Receives bytes of the server, in one read.
    public func receive(_ bytes: [UInt8]) {
        transport.deliver(bytes)
        loop.run()
    }

    /// Resumes the transaction of a request after ``Flow/pause``.
    public func resume(_ number: Int) {
        streams[number].resumeReading()
        loop.run()
    }

    /// Cancels the transaction of a request.
    public func cancel(_ number: Int) {
        streams[number].cancel()
        loop.run()
    }

    public func advanceTime(by step: Duration) { loop.advanceTime(by: step) }

    /// Ends the connection, as the server would.
    public func end() {
        transport.end()
        loop.run()
    }

    /// Whether the transport reports that it accepts more bytes. It accepts all bytes even if this is `false`.
    public var isWritable: Bool {
        get { transport.isWritable }
        set {
            transport.isWritable = newValue
            loop.run()
        }
    }

    /// Whether the client has not closed the connection.
    public var isOpen: Bool { transport.isOpen }

    /// All bytes that the client has sent.
    public var output: [UInt8] { transport.output }

    /// A function for leak checks: whether an object of the connection still exists after the owner has released it.
    public var remains: () -> Bool {
        { [weak loop, weak transport, weak connection] in loop != nil || transport != nil || connection != nil }
    }
}

/// A transport in memory.
private final class InMemoryByteConnection: ByteConnection {
    private let ownLoop: InMemoryEventLoop
    private var receiver: (any ByteConnectionReceiver)?
    private(set) var isOpen = true
    private(set) var output: [UInt8] = []
    var isWritable = true {
        didSet { if isWritable, !oldValue { receiver?.transportIsWritable() } }
    }

    init(on loop: InMemoryEventLoop, for receiver: any ByteConnectionReceiver) {
        ownLoop = loop
        self.receiver = receiver
    }

    var loop: any EventLoop { ownLoop }
    var isWatched: Bool { true }
    var isAlive: Bool { isOpen }

    func write(_ bytes: borrowing RawSpan, hasMore: Bool) {
        guard isOpen else { return }
        unsafe bytes.withUnsafeBytes { unsafe output.append(contentsOf: $0) }
    }

    func write(file: CInt, from offset: Int64, atMost count: Int) -> FileSendResult { .unable }
    func promiseDriver() {}
    func drive(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool { false }
    func finishWriting() { isWritable = false }
    func pause() {}
    func resume() {}

    func close() {
        guard isOpen else { return }
        isOpen = false
        let transport = LoopBound(self)
        ownLoop.execute { transport.value.reportEnd() }
    }

    func deliver(_ bytes: [UInt8]) {
        guard isOpen else { return }
        unsafe receiver?.didReceive(bytes.span.bytes)
    }

    func end() {
        guard isOpen else { return }
        isOpen = false
        reportEnd()
    }

    private func reportEnd() {
        let formerReceiver = receiver
        receiver = nil
        formerReceiver?.transportDidEnd(nil)
    }
}

private final class InMemoryTransaction: HTTPTransaction {
    let preparedRequest: PreparedRequest
    let upload: RequestBodySource?
    private let observe: (InMemoryHTTP2.Event) -> Flow

    init(_ preparedRequest: PreparedRequest, upload: RequestBodySource?, observe: @escaping (InMemoryHTTP2.Event) -> Flow) {
        self.preparedRequest = preparedRequest
        self.upload = upload
        self.observe = observe
    }

    func didSend(bodyBytes: Int) { _ = observe(.sent(bodyBytes)) }
    func requestIsSent() { _ = observe(.requestIsSent) }
    func didReceiveInterim(_ head: ResponseHead) { _ = observe(.interim(head.status)) }
    func didReceive(_ head: ResponseHead, bodyLength length: Int64?) -> Flow {
        observe(.head(head.status, fields: InMemoryResponse.texts(head.fields), length: length))
    }
    func didLoad(_ bytes: borrowing RawSpan) -> Flow { observe(.data(unsafe bytes.withUnsafeBytes { unsafe Array($0) })) }
    func didEnd(trailers: HTTPFields?, report: TransferReport) { _ = observe(.end(trailers: trailers.map(InMemoryResponse.texts) ?? [])) }
    func didFail(_ error: LoadError, eligibility: RetryEligibility, report: TransferReport) {
        _ = observe(.failed(error, InMemoryHTTP2.Eligibility(eligibility)))
    }
}
