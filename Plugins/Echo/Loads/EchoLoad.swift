// SPDX-License-Identifier: Apache-2.0

/// One load: does what the command says. Each function that serves one reads from top to bottom, as every client call waits by itself.
final class EchoLoad: BlockingLoad {
    let request: Request
    let client: Client
    let options: AnswerOptions
    let maximumEcho: Int64
    let signal = StopSignal()
    private let command: Command

    init(_ command: Command, _ options: AnswerOptions, for request: Request, client: Client, maximumEcho: Int64) {
        self.command = command
        self.options = options
        self.request = request
        self.client = client
        self.maximumEcho = maximumEcho
    }

    func run() {
        do throws(Interruption) {
            try serve()
            client.didFinish()
        } catch {
            switch error {
            case .stopped: break  // no end is owed
            case .failed(let failure): client.didFail(failure)
            }
        }
    }

    func stop() {
        signal.set()
    }

    private func serve() throws(Interruption) {
        var delivery = Delivery(to: client, options, method: request.method, signal: signal)
        try delivery.prelude()
        switch command {
        case .request: try serveRequest(&delivery)
        case .bytes(let bytes, let isText):
            let type = isText ? "text/plain" : "application/octet-stream"
            try answer(bytes, type: type, charset: isText ? "utf-8" : nil, &delivery)
        case .size(let size):
            guard try delivery.begin(Response(type: "application/octet-stream", length: size)) else { return }
            try delivery.deliver(size: size)
            try delivery.end()
        case .upload: try serveUpload(&delivery)
        case .sink: try serveSink(&delivery)
        case .redirect(let target): try redirect(to: target, &delivery)
        case .detour(let next): try redirect(to: request.url(query: next), &delivery)
        case .loop: try redirect(to: request.url(), &delivery)
        case .challenge(let lock): try serveChallenge(lock, &delivery)
        case .fail(let failure, let after): try fail(failure, after: after, &delivery)
        case .hang:
            _ = try delivery.begin(Response())
            try signal.waitForStop()
        }
    }

    /// Answers with these bytes.
    func answer(_ bytes: [UInt8], type: String, charset: String?, status: Int32 = 0, _ delivery: inout Delivery) throws(Interruption) {
        let response = Response(status: status, type: type, charset: charset, length: Int64(bytes.count))
        guard try delivery.begin(response) else { return }
        try delivery.deliver(all: bytes)
        try delivery.end()
    }

    private func redirect(to target: String, _ delivery: inout Delivery) throws(Interruption) {
        let text = Array(target.utf8)
        let response = Response(
            status: 302, type: "text/plain", charset: "utf-8", length: Int64(text.count), fields: [Field(name: "location", value: target)])
        try client.wasRedirected(to: target, delivery.response(response))
        // Not taken: the caller wants to see the response itself, and then its body.
        guard try delivery.begin(response) else { return }
        try delivery.deliver(all: text)
        try delivery.end()
    }

    private func fail(_ failure: Failure, after count: Int64?, _ delivery: inout Delivery) throws(Interruption) {
        if let count, try delivery.begin(Response(type: "application/octet-stream")) { try delivery.deliver(size: count) }
        throw .failed(failure)
    }
}
