// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanDownloads
import PortolanURL
import Synchronization

/// A handler that acts as a server with resumable uploads, and interrupts them.
final class UploadServer: ProtocolHandler {
    /// What happens with one request that has a part of the body.
    struct Interruption {
        /// The number of bytes that the server still receives; `nil` for all.
        var receivedCount: Int?
        /// Whether the server has completed the upload, and only its response is lost.
        var losesResponse = false
        /// The status of the response; `nil` for a lost connection.
        var status: HTTPResponse.Status?
    }

    /// What a server does wrong, or what the draft only recommends.
    enum Quirk {
        /// It accepts parts, and stores none.
        case storesNoPart
        /// It does not say in its response that the upload is complete, and then removes the upload.
        case removesCompleteUpload
        /// It allows less with each part.
        case allowsLessEachTime
    }

    struct State {
        var interruptions: [Interruption] = []
        var received: [UInt8] = []
        var isComplete = false
        /// The method and the URL of each request.
        var lines: [String] = []
        var requests: [Request] = []
        var partSizes: [Int] = []
    }

    let identifier = "org.example.uploads"
    let schemes = SchemeSet.only(["http", "https"])
    /// `nil` for a server without resumable uploads.
    private let location: String?
    private let limit: String?
    private let quirk: Quirk?
    /// Changes the fields of the response to HEAD.
    private let adapt: @Sendable (inout HTTPFields) -> Void
    let state: Mutex<State>

    init(
        _ interruptions: [Interruption] = [], location: String? = "/uploads/1", limit: String? = nil, quirk: Quirk? = nil,
        adapt: @escaping @Sendable (inout HTTPFields) -> Void = { _ in }
    ) {
        (self.location, self.limit, self.quirk, self.adapt) = (location, limit, quirk, adapt)
        state = Mutex(State(interruptions: interruptions))
    }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        UploadServerLoad { [self] in serve(request, client) }
    }

    private func serve(_ request: Request, _ client: any ProtocolClient) {
        let isFirst = state.withLock { state in
            state.lines.append("\(request.method.rawValue) \(request.url.path)")
            state.requests.append(request)
            return state.requests.count { $0.method == .post || $0.method == .put } == state.requests.count
        }
        switch request.method {
        case .head:
            var fields = HTTPFields()
            let (offset, isComplete) = state.withLock { ($0.received.count, $0.isComplete) }
            Self.set(&fields, ("Upload-Offset", "\(offset)"), ("Upload-Complete", isComplete ? "?1" : "?0"))
            adapt(&fields)
            finish(request, client, isComplete && quirk == .removesCompleteUpload ? .notFound : .noContent, fields)
        case .patch:
            let offset = state.withLock { $0.received.count }
            guard request.field("Upload-Offset") == "\(offset)", request.field("Content-Type") == "application/partial-upload" else {
                var fields = HTTPFields()
                Self.set(&fields, ("Upload-Offset", "\(offset)"))
                return finish(request, client, .conflict, fields)
            }
            receive(request, client)
        default:
            if isFirst, let location {
                var fields: HTTPFields = [.location: location]
                if let limit { Self.set(&fields, ("Upload-Limit", limit)) }
                client.didReceiveInterim(Response(url: request.url, status: .init(code: 104), fields: fields))
            }
            // A server without resumable uploads forgets what it has received.
            if location == nil { state.withLock { $0.received = [] } }
            receive(request, client)
        }
    }

    private func receive(_ request: Request, _ client: any ProtocolClient) {
        let (bytes, error) = Self.bytes(of: request)
        if let error { return client.didFail(with: error) }
        if request.method == .patch, quirk == .storesNoPart { return finish(request, client, .noContent, HTTPFields()) }
        if request.method == .patch, quirk == .allowsLessEachTime {
            var fields = HTTPFields()
            Self.set(&fields, ("Upload-Limit", "max-append-size=\(bytes.count - 1)"))
            return finish(request, client, .contentTooLarge, fields)
        }
        let interruption = state.withLock { state in
            state.partSizes.append(bytes.count)
            return state.interruptions.isEmpty ? Interruption() : state.interruptions.removeFirst()
        }
        let isLast = request.field("Upload-Complete") != "?0"
        let count = min(interruption.receivedCount ?? bytes.count, bytes.count)
        let isInterrupted = interruption.receivedCount != nil && !interruption.losesResponse
        state.withLock { state in
            state.received += bytes[..<count]
            state.isComplete = isLast && !isInterrupted
        }
        if interruption.losesResponse || isInterrupted {
            guard let status = interruption.status else {
                return client.didFail(with: LoadError(.connectionLost, message: "the connection was cut"))
            }
            return finish(request, client, status, HTTPFields())
        }
        var fields = HTTPFields()
        if request.method == .patch, quirk != .removesCompleteUpload { Self.set(&fields, ("Upload-Complete", isLast ? "?1" : "?0")) }
        finish(request, client, isLast ? .created : .noContent, fields, isLast ? "done" : "")
    }

    private func finish(
        _ request: Request, _ client: any ProtocolClient, _ status: HTTPResponse.Status, _ fields: HTTPFields, _ text: String = ""
    ) {
        guard client.didReceive(Response(url: request.url, status: status, fields: fields), storage: .notAllowed) == .keepGoing else {
            return
        }
        let bytes = Array(text.utf8)
        let span = bytes.span
        if !bytes.isEmpty { guard unsafe client.didLoad(span.bytes) == .keepGoing else { return } }
        client.didFinishLoading()
    }

    static func set(_ fields: inout HTTPFields, _ values: (String, String)...) {
        for (name, value) in values { if let name = HTTPField.Name(name) { fields[name] = value } }
    }

    static func bytes(of request: Request) -> ([UInt8], LoadError?) {
        guard let body = request.body else { return ([], nil) }
        do throws(LoadError) {
            return (try body.allBytes(), nil)
        } catch {
            return ([], error)
        }
    }
}

private final class UploadServerLoad: ProtocolLoad {
    private let start: @Sendable () -> Void

    init(_ start: @escaping @Sendable () -> Void) { self.start = start }

    func startLoading() { start() }
    func stopLoading() {}
    func resumeLoading() {}
}

extension Body {
    /// All bytes of a body that never waits.
    func allBytes() throws(LoadError) -> [UInt8] {
        let reader = try makeReader()
        defer { reader.close() }
        var bytes: [UInt8] = []
        while true {
            var result = BodyRead.end
            bytes += [UInt8](capacity: 10_000) { result = reader.read(into: &$0) {} }
            switch result {
            case .bytes: break
            case .end: return bytes
            case .failed(let error): throw error
            case .wait: throw LoadError(.unknown, message: "the body waits")
            }
        }
    }
}
