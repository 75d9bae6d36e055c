// SPDX-License-Identifier: Apache-2.0

/// The commands that take the upload body.
extension EchoLoad {
    /// Gives each piece back before it reads the next: a slow reader makes the upload slow, and a slow upload the reader wait.
    func serveUpload(_ delivery: inout Delivery) throws(Interruption) {
        let content = request.field("content-type").flatMap { ContentType(parsing: $0) }
        let response = Response(
            type: content?.type ?? "application/octet-stream", charset: content?.charset, length: request.bodyLength)
        guard try delivery.begin(response) else { return }
        try takeBody { piece throws(Interruption) in try delivery.deliver(piece) }
        try delivery.end()
    }

    /// Takes all of it, and answers with how much that was.
    func serveSink(_ delivery: inout Delivery) throws(Interruption) {
        let total = try takeBody { _ throws(Interruption) in }
        try answer(Array("\(total)".utf8), type: "text/plain", charset: "utf-8", &delivery)
    }

    /// Answers with the request, its body included, as JSON.
    func serveRequest(_ delivery: inout Delivery) throws(Interruption) {
        if let length = request.bodyLength, length > maximumEcho { throw .failed(tooLarge) }
        var body: [UInt8] = []
        try takeBody { piece throws(Interruption) in
            guard Int64(body.count + piece.byteCount) <= maximumEcho else { throw .failed(tooLarge) }
            unsafe piece.withUnsafeBytes { unsafe body.append(contentsOf: $0) }
        }
        try answer(Array(RequestReport.json(request, body: body).utf8), type: "application/json", charset: nil, &delivery)
    }

    private var tooLarge: Failure {
        Failure(
            .limitExceeded,
            "the body is larger than the \(maximumEcho) bytes that echo:request takes; use echo:upload, or raise the setting 'maximumEcho'")
    }

    /// Reads the body to its end, piece by piece, and says after each how much is taken.
    @discardableResult
    private func takeBody(_ use: (borrowing RawSpan) throws(Interruption) -> Void) throws(Interruption) -> Int64 {
        var buffer = [UInt8](repeating: 0, count: options.piece)
        var total: Int64 = 0
        while true {
            let count = try client.readBody(into: &buffer)
            guard count > 0 else { break }
            total += Int64(count)
            client.didSend(total: total)
            let bytes = unsafe buffer.span.bytes
            try use(bytes.extracting(first: count))
        }
        if !options.steps.contains(.requestSent) { client.didReach(.requestSent) }
        return total
    }
}
