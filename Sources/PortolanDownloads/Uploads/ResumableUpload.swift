// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization

/// An upload that continues after the last byte that the server has received.
///
/// draft-ietf-httpbis-resumable-upload-12 §4
struct ResumableUpload {
    private let request: Request
    private let body: Body
    private let length: Int64
    private let loader: Loader
    private let policy: RetryPolicy
    private let delegate: (any LoadDelegate)?
    private var retries: RetryState?
    /// The retries that send the whole body again, as the loader's configuration allows them; `nil` for none.
    private var restarts: RetryState?
    /// The resource of the upload on the server; `nil` if it is not known.
    private var resource: URLRecord?
    /// The number of bytes that the server has processed. It never decreases.
    private var offset: Int64 = 0
    private var limits: (append: Int64?, total: Int64?) = (nil, nil)
    /// The response that may be the last one, if the server confirms that the upload is complete.
    private var candidate: (Data, Response)?

    /// - Returns: `nil` if the request can't be continued.
    init?(_ request: Request, by loader: Loader, _ policy: RetryPolicy, _ delegate: (any LoadDelegate)?) {
        guard let body = request.body, let length = body.length, body.isRewindable, ["http", "https"].contains(request.url.scheme)
        else { return nil }
        (self.request, self.body, self.length) = (request, body, length)
        (self.loader, self.policy, self.delegate) = (loader, policy, delegate ?? loader.delegateOfNewTasks)
        retries = RetryState(policy)
        restarts = loader.configuration.retries.flatMap { $0.includes(request.method) ? RetryState($0) : nil }
    }

    /// What follows a request.
    private enum Step {
        case done(Data, Response)
        /// Send the whole body: at once, or after a failure if the server has no upload that can be continued.
        case create(after: RetryableFailure?)
        /// Ask for the offset, at once or after a failure.
        case ask(after: RetryableFailure?)
        /// Send the bytes from the offset on.
        case append
    }

    mutating func run() async throws(LoadError) -> (Data, Response) {
        let start = loader.configuration.clock.now
        var step = Step.create(after: nil)
        while true {
            switch step {
            case .done(let body, let response): return (body, response)
            case .create(let failure):
                guard try await wait(after: failure, \.restarts, since: start) else { return try lastResult.get() }
                step = try await create()
            case .ask(let failure):
                guard try await wait(after: failure, \.retries, since: start) else { return try lastResult.get() }
                step = try await ask()
            case .append: step = try await append()
            }
        }
    }

    /// Waits before the attempt that follows a failure, and counts this attempt. Without a failure, returns at once.
    ///
    /// - Returns: `false` if no other attempt is allowed.
    private mutating func wait(
        after failure: RetryableFailure?, _ state: WritableKeyPath<Self, RetryState?>, since start: Duration
    ) async throws(LoadError) -> Bool {
        guard let failure else { return true }
        let clock = loader.configuration.clock
        guard case .wait(let wait)? = self[keyPath: state]?.decide(after: failure, elapsed: clock.now - start, random: .random(in: 0...1))
        else { return false }
        self[keyPath: state]?.countRetry()
        try await clock.sleep(for: wait)
        return true
    }

    // MARK: - Requests

    /// §4.2
    private mutating func create() async throws(LoadError) -> Step {
        var first = request
        first.isRetriedByCaller = true
        set("Upload-Complete", "?1", &first.fields)
        set("Upload-Length", String(length), &first.fields)
        let (result, interim) = await load(first)
        if let location = interim.location {
            let origin = interim.url ?? request.url
            guard let resource = try? URLRecord(parsing: location, relativeTo: origin), isAllowed(resource) else {
                throw LoadError(
                    .badResponse,
                    message: "the server of \(request.url.shortDescription) sent an upload URL that is malformed, or whose scheme is not "
                        + "allowed")
            }
            self.resource = resource
            try note(interim.fields)
        }
        lastResult = result
        switch result {
        case .failure(let error):
            if resource == nil, let failure = restarts?.policy.retryableFailure(error) { return .create(after: failure) }
            guard resource != nil, let failure = policy.retryableFailure(error) else { throw error }
            return .ask(after: failure)
        case .success((let body, let response)):
            let fields = UploadFields(response.fields)
            try note(fields)
            if resource == nil, let failure = restarts?.policy.retryableFailure(response, now: Self.now) { return .create(after: failure) }
            guard resource != nil, fields.isComplete != true, let status = response.status else { return .done(body, response) }
            if status == .contentTooLarge, limits.append.map({ $0 < length }) == true { return .ask(after: nil) }
            if status.kind == .serverError, let failure = retryableFailure(response) { return .ask(after: failure) }
            return .done(body, response)
        }
    }

    /// §4.3
    private mutating func ask() async throws(LoadError) -> Step {
        let (result, _) = await load(request(.head))
        switch result {
        case .failure(let error):
            guard let failure = policy.retryableFailure(error) else { throw error }
            lastResult = result
            return .ask(after: failure)
        case .success((_, let response)):
            guard response.status?.kind == .successful else {
                // The server may remove the upload when it is complete (§4).
                if let candidate, [404, 410].contains(response.status?.code) { return .done(candidate.0, candidate.1) }
                if let failure = retryableFailure(response) { return .ask(after: failure) }
                throw LoadError(
                    .badResponse,
                    message: "the upload to \(request.url.shortDescription) can't be continued: the server responds with "
                        + "\(response.status.map { "the status \($0.code)" } ?? "no status") when it is asked for the number of received bytes"
                )
            }
            let fields = UploadFields(response.fields)
            try note(fields)
            if fields.isComplete == true {
                let last = candidate ?? (Data(), response)
                return .done(last.0, last.1)
            }
            guard let offset = fields.offset else { throw contradiction("it does not say how many bytes it has received") }
            guard candidate == nil || offset > self.offset else {
                throw contradiction("the upload is not complete, although it has accepted the last part")
            }
            candidate = nil
            try advance(to: offset)
            return .append
        }
    }

    /// §4.4
    private mutating func append() async throws(LoadError) -> Step {
        let end = min(length, limits.append.map { offset + min($0, length - offset) } ?? length)
        var part = request(.patch)
        part.fields[.contentType] = "application/partial-upload"
        set("Upload-Offset", String(offset), &part.fields)
        set("Upload-Complete", end == length ? "?1" : "?0", &part.fields)
        part.body = body.part(offset..<end)
        let (result, _) = await load(part)
        lastResult = result
        switch result {
        case .failure(let error):
            guard let failure = policy.retryableFailure(error) else { throw error }
            return .ask(after: failure)
        case .success((let body, let response)):
            let fields = UploadFields(response.fields)
            try note(fields)
            guard fields.isComplete != true, let status = response.status else { return .done(body, response) }
            if status.kind == .successful {
                if end == length {
                    candidate = (body, response)
                    return .ask(after: nil)
                }
                try advance(to: end)
                return .append
            }
            if status == .conflict, let expected = fields.offset, expected != offset {
                // This counts as a failure, so that there is no endless loop if the server always expects another
                // offset.
                try advance(to: expected)
                return .ask(after: .error(.connectionLost))
            }
            if status == .contentTooLarge, let limit = limits.append, limit < end - offset, retries?.retriesLeft ?? 0 > 0 {
                retries?.countRetry()
                return .append
            }
            if let failure = retryableFailure(response) { return .ask(after: failure) }
            return .done(body, response)
        }
    }

    /// The result of the last request that sent bytes of the body, or the error of a later request for the offset.
    private var lastResult: Result<(Data, Response), LoadError> = .failure(LoadError(.unknown, message: "the upload has not begun"))

    private func request(_ method: HTTPRequest.Method) -> Request {
        var next = request
        (next.method, next.body, next.isRetriedByCaller) = (method, nil, true)
        next.cachePolicy = .noStore
        if let resource { next.url = resource }
        for name in Request.bodyFields { next.fields[name] = nil }
        for name in [HTTPField.Name.contentDisposition, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince] {
            next.fields[name] = nil
        }
        if !next.url.hasSameOrigin(as: request.url) {
            let secrets = loader.configuration.redirects.originFields.union([.authorization, .cookie, .proxyAuthorization])
            next.fields = HTTPFields(next.fields.filter { !secrets.contains($0.name) })
        }
        return next
    }

    private func load(_ request: Request) async -> (Result<(Data, Response), LoadError>, InterimFields) {
        let observer = InterimObserver(delegate)
        do throws(LoadError) {
            return (.success(try await loader.data(for: request, delegate: observer)), observer.fields)
        } catch {
            return (.failure(error), observer.fields)
        }
    }

    // MARK: - Rules

    /// In seconds since 1970, for `Retry-After`.
    private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// A server with TLS must not lead the upload to one without.
    private func isAllowed(_ resource: URLRecord) -> Bool {
        resource.scheme == request.url.scheme || (resource.scheme == "https" && request.url.scheme == "http")
    }

    private func retryableFailure(_ response: Response) -> RetryableFailure? {
        policy.retryableFailure(response, now: Self.now)
    }

    private mutating func note(_ fields: UploadFields) throws(LoadError) {
        if let length = fields.length, length != self.length { throw contradiction("it expects \(length) bytes") }
        if let limit = fields.maximumAppendSize { limits.append = limit }
        if let limit = fields.maximumSize { limits.total = limit }
        if let limit = limits.total, limit < length, resource != nil, fields.isComplete != true {
            throw LoadError(
                .limitExceeded, message: "the upload to \(request.url.shortDescription) has \(length) bytes; the server allows \(limit)")
        }
    }

    private mutating func advance(to newOffset: Int64) throws(LoadError) {
        guard newOffset <= length else { throw contradiction("it has received \(newOffset) bytes") }
        guard newOffset >= offset else { throw contradiction("it has received \(newOffset) bytes, and \(offset) before") }
        if newOffset > offset { retries = RetryState(policy) }
        offset = newOffset
    }

    private func contradiction(_ reason: String) -> LoadError {
        LoadError(
            .badResponse,
            message: "the upload of \(length) bytes to \(request.url.shortDescription) can't be continued: the server says that \(reason)")
    }

    private func set(_ name: String, _ value: String, _ fields: inout HTTPFields) {
        if let name = HTTPField.Name(name) { fields[name] = value }
    }
}

/// What the interim responses to a request say.
private struct InterimFields: Sendable {
    /// The URL of the response with the location.
    var url: URLRecord?
    var location: String?
    var fields = UploadFields(HTTPFields())
}

private final class InterimObserver: ForwardingDelegate {
    let delegate: (any LoadDelegate)?
    private let state = Mutex(InterimFields())

    init(_ delegate: (any LoadDelegate)?) { self.delegate = delegate }

    var fields: InterimFields { state.withLock { $0 } }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) {
        if response.status?.code == Response.uploadProgressStatus, let location = response.fields[.location] {
            state.withLock { $0 = InterimFields(url: response.url, location: location, fields: UploadFields(response.fields)) }
        }
        delegate?.loadTask(task, didReceiveInterim: response)
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { forwardEnd(of: task, error) }
}
