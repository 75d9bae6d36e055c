// SPDX-License-Identifier: Apache-2.0

/// Brings one answer to the client, in the way that the URL asked for: response, pieces, pauses, cut, trailers.
struct Delivery: ~Copyable {
    private let client: Client
    private let options: AnswerOptions
    private let signal: StopSignal
    private let isHeadOnly: Bool
    private var delivered: Int64 = 0
    private var announced: Int64?

    init(to client: Client, _ options: AnswerOptions, method: String, signal: StopSignal) {
        self.client = client
        self.options = options
        self.signal = signal
        isHeadOnly = method == "HEAD"
    }

    /// What comes before the command itself: the steps, the interim responses, the wait.
    func prelude() throws(Interruption) {
        for step in options.steps { client.didReach(step) }
        for status in options.interim { client.didReceiveInterim(Response(status: status)) }
        try signal.wait(options.wait)
    }

    /// The response of a command, changed as the URL asks.
    func response(_ own: Response) -> Response {
        var response = own
        if let status = options.status { response.status = status }
        if let type = options.type { (response.type, response.charset) = (type, nil) }
        if let charset = options.charset { response.charset = charset }
        if let name = options.name { response.name = name }
        switch options.length {
        case .own: break
        case .unknown: response.length = nil
        case .exactly(let length): response.length = length
        }
        response.fields += options.fields
        return response
    }

    /// Delivers the response.
    ///
    /// - Returns: whether a body is wanted: not for HEAD.
    mutating func begin(_ own: Response) throws(Interruption) -> Bool {
        let response = response(own)
        announced = response.length
        try client.didReceive(response)
        guard !isHeadOnly else { return false }
        try cutWhereAsked()
        return true
    }

    /// Delivers one piece, after the pause that follows the one before it.
    mutating func deliver(_ bytes: borrowing RawSpan) throws(Interruption) {
        guard !bytes.isEmpty else { return }
        if delivered > 0 { try signal.wait(options.pause) }
        let count = min(Int64(bytes.byteCount), (options.cut ?? .max) - delivered)
        if let announced, delivered + count > announced {
            throw .failed(Failure(.badResponse, "the body has more than the \(announced) bytes that the URL had announced by 'length'"))
        }
        try client.didLoad(bytes.extracting(first: Int(count)))
        delivered += count
        try cutWhereAsked()
    }

    /// Delivers all of it, in pieces.
    mutating func deliver(all bytes: [UInt8]) throws(Interruption) {
        let span = unsafe bytes.span.bytes
        for start in stride(from: 0, to: bytes.count, by: options.piece) {
            try deliver(span.extracting(start..<min(start + options.piece, bytes.count)))
        }
    }

    /// Delivers so many bytes of the ``Pattern``, in constant memory.
    mutating func deliver(size: Int64) throws(Interruption) {
        guard size > 0 else { return }
        let pattern = Pattern(piece: Int(min(size, Int64(options.piece))))
        var offset: Int64 = 0
        while offset < size {
            let count = min(size - offset, Int64(options.piece))
            try pattern.withPiece(at: offset, count: Int(count)) { bytes throws(Interruption) in try deliver(bytes) }
            offset += count
        }
    }

    /// What comes after a body that is whole.
    func end() throws(Interruption) {
        if let announced, delivered < announced {
            throw .failed(
                Failure(.truncated, "the body ended after \(delivered) of the \(announced) bytes that were announced by 'length'"))
        }
        if !options.trailers.isEmpty { client.didReceiveTrailers(options.trailers) }
    }

    private func cutWhereAsked() throws(Interruption) {
        if let cut = options.cut, delivered >= cut {
            throw .failed(Failure(.truncated, "the body was cut after \(cut) bytes, as the URL asked"))
        }
    }
}
