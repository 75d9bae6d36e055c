// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import PortolanCore

/// The events of a server, over as many connections as necessary.
///
///     for try await event in try loader.events(from: "https://example.org/prices") {
///         let price = try event.decode(Price.self)
///     }
///
/// Each iterator makes its own connection when its first event is requested. While the reader requests nothing, the
/// handler is paused. When the iterator is released, or the reading task is cancelled, the connection ends.
///
/// If a connection ends or fails, a new one is made after a wait, with the last ID in the field `Last-Event-ID`. The
/// server can choose the wait (`retry`); the default is 3 s. The wait doubles after each further attempt without a
/// response, up to a minute, or to the server's own wait if that is longer. An idle connection fails after
/// `Timeouts.idle`, so a server should send comments.
///
/// The sequence ends after a response with the status 204. It fails with ``StatusError`` after a status of 400 or
/// above, and with `LoadError.Code.badResponse` after another status than 200 or another type than
/// `text/event-stream`. It fails with the error of the load if a new connection can't help, or after as many attempts
/// without a response as the limit allows, and with `LoadError.Code.limitExceeded` after an event that is too large.
///
/// HTML, "server-sent events"
public struct ServerSentEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent

    let loader: Loader
    let request: Request
    let maximumEventSize: Int
    let maximumFailureCount: Int

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private enum State {
            /// The next step is a connection, after a wait.
            case disconnected(wait: Duration?)
            case connected(ByteChunks.Iterator)
            case over
        }

        private let source: ServerSentEvents
        private var state = State.disconnected(wait: nil)
        private var parser: EventStreamParser
        private var schedule = ReconnectionSchedule()
        private var events: ArraySlice<ServerSentEvent> = []

        init(_ source: ServerSentEvents) {
            self.source = source
            parser = EventStreamParser(limit: source.maximumEventSize)
        }

        public mutating func next() async throws -> ServerSentEvent? {
            do {
                while true {
                    if let event = events.popFirst() { return event }
                    switch state {
                    case .over: return nil
                    case .disconnected(let wait):
                        if let wait { try await source.loader.configuration.clock.sleep(for: wait) }
                        try await connect()
                    case .connected(var chunks): try await read(&chunks)
                    }
                }
            } catch {
                (state, events) = (.over, [])
                throw error
            }
        }

        private mutating func connect() async throws {
            let connection: (chunks: ByteChunks, response: Response)
            do throws(LoadError) {
                connection = try await source.loader.bytes(for: source.request(lastEventID: parser.lastEventID))
            } catch {
                schedule.didFail()
                return try reconnect(after: error)
            }
            schedule.didRespond()
            let (chunks, response) = connection
            guard response.status != .noContent else { return state = .over }
            try await source.check(response, chunks)
            parser = EventStreamParser(limit: source.maximumEventSize, lastEventID: parser.lastEventID)
            state = .connected(chunks.makeAsyncIterator())
        }

        private mutating func read(_ chunks: inout ByteChunks.Iterator) async throws {
            do throws(LoadError) {
                if let failure = parser.failure { throw failure }
                guard let piece = try await chunks.next() else { return try reconnect(after: nil) }
                let newEvents = parser.append(piece)
                if let delay = parser.retryDelay { schedule.retryDelay = delay }
                events = newEvents[...]
                state = .connected(chunks)
            } catch {
                try reconnect(after: error)
            }
        }

        private mutating func reconnect(after error: LoadError?) throws(LoadError) {
            if let error, !ReconnectionSchedule.allowsConnection(after: error) || schedule.failureCount >= source.maximumFailureCount {
                throw error
            }
            state = .disconnected(wait: schedule.wait)
        }
    }
}

extension ServerSentEvents {
    /// The request of a connection.
    fileprivate func request(lastEventID: String) -> Request {
        var request = request
        request.fields[.accept] = "text/event-stream"
        request.cachePolicy = .noStore
        if !lastEventID.isEmpty, let name = HTTPField.Name("Last-Event-ID") { request.fields[name] = lastEventID }
        return request
    }

    /// - Throws: ``StatusError`` or `LoadError.Code.badResponse` if the response is not an event stream.
    fileprivate func check(_ response: Response, _ chunks: ByteChunks) async throws {
        try await chunks.validated(for: response)
        if let status = response.status, status != .ok {
            throw LoadError(.badResponse, message: "the response for \(response.url) is \(status.code), and events need the status 200")
        }
        guard response.mimeType?.essence == "text/event-stream" else {
            let type = response.mimeType.map { "has the type '\($0)'" } ?? "has no type"
            throw LoadError(.badResponse, message: "the response for \(response.url) \(type), and events need 'text/event-stream'")
        }
    }
}

extension Loader {
    /// Returns the events that a server sends, with reconnection. The first connection is made when the first event is
    /// requested.
    ///
    /// - Parameters:
    ///   - request: its field `Accept` and its cache policy are replaced. Its body must be one that can be read again.
    ///   - maximumEventSize: the maximum number of bytes of one event; 1 MiB by default.
    ///   - maximumFailureCount: the number of consecutive attempts without a response after which the sequence fails
    ///     with the last error.
    public func events(for request: Request, maximumEventSize: Int = 1 << 20, maximumFailureCount: Int = 10) -> ServerSentEvents {
        ServerSentEvents(loader: self, request: request, maximumEventSize: maximumEventSize, maximumFailureCount: maximumFailureCount)
    }

    /// Does what `events(for:maximumEventSize:maximumFailureCount:)` does, for a URL as text. A relative URL refers
    /// to `Configuration.baseURL`.
    ///
    /// - Throws: `LoadError.Code.badURL` if the text is not a URL.
    public func events(from url: String, maximumEventSize: Int = 1 << 20, maximumFailureCount: Int = 10) throws(LoadError)
        -> ServerSentEvents
    {
        events(for: try makeRequest(url), maximumEventSize: maximumEventSize, maximumFailureCount: maximumFailureCount)
    }

    /// Does what `events(for:maximumEventSize:maximumFailureCount:)` does, for a Foundation URL.
    ///
    /// - Throws: `LoadError.Code.badURL` if it is no URL of the WHATWG standard.
    public func events(from url: URL, maximumEventSize: Int = 1 << 20, maximumFailureCount: Int = 10) throws(LoadError)
        -> ServerSentEvents
    {
        events(for: try Request(url), maximumEventSize: maximumEventSize, maximumFailureCount: maximumFailureCount)
    }
}
