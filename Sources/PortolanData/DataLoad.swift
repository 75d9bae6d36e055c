// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// One load of a `data:` URL. Decodes one piece at a time into a buffer, which the client borrows. A body that needs no
/// decoding is borrowed from the URL.
final class DataLoad: ProtocolLoad {
    /// The size of a piece in bytes. Small enough to stay in the processor's cache between the decoder and the client.
    private static let pieceSize = 64 << 10

    /// The state of the load. Only the thread that performs the current call uses it, except for `stopLoading`.
    private enum State {
        case waiting, delivering
        case paused(DataURLDecoder)
        case ended
    }

    private let request: Request
    private let client: any ProtocolClient
    private let calls = SerialCalls()
    private let state = Mutex(State.waiting)

    init(_ request: Request, client: any ProtocolClient) {
        self.request = request
        self.client = client
    }

    /// Always `true`, because a stop can come when the next piece is about to be delivered.
    var stopsAsynchronously: Bool { true }

    func startLoading() { calls.submit(.start, perform: perform) }
    func resumeLoading() { calls.submit(.resume, perform: perform) }
    func stopLoading() { state.withLock { $0 = .ended } }

    private func perform(_ call: SerialCalls.Call) {
        if call == .start { start() } else if let decoder = takePausedDecoder() { deliver(decoder) }
    }

    private func start() {
        let decoder: DataURLDecoder
        do throws(DataURLError) {
            decoder = try DataURLDecoder(parsing: request.url.string, fragmentOffset: request.url.fragmentOffset)
        } catch {
            return client.didFail(with: LoadError(.badURL, message: error.description))
        }
        let isRunning = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .delivering
            return true
        }
        guard isRunning else { return }
        let flow = client.didReceive(response(decoder), storage: .notAllowed)
        if flow == .keepGoing { deliver(decoder) } else { pauseOrEnd(after: decoder, flow) }
    }

    /// The fields for the default type. Making them for each load would take a tenth of the time of a short load.
    private static let plainFields = fields(for: .plainASCIIText)

    private static func fields(for type: MIMEType) -> HTTPFields { [.contentType: type.description] }

    private func response(_ decoder: DataURLDecoder) -> Response {
        let type = decoder.mimeType
        return Response(
            url: request.url, mimeType: type, expectedLength: Int64(decoder.length), status: .ok,
            fields: type == .plainASCIIText ? Self.plainFields : Self.fields(for: type))
    }

    /// Delivers until the end, a pause or a stop.
    private func deliver(_ decoder: DataURLDecoder) {
        var decoder = decoder
        var flow = Flow.keepGoing
        if request.method == .head {
            // No body. The response has the length that the body would have.
        } else if decoder.takeVerbatim(upTo: 0) != nil {
            while flow == .keepGoing, let range = decoder.takeVerbatim(upTo: Self.pieceSize), !range.isEmpty {
                let bytes = request.url.string.utf8.span
                flow = unsafe client.didLoad(bytes.extracting(range).bytes)
            }
        } else {
            var buffer = [UInt8](repeating: 0, count: min(decoder.remaining, Self.pieceSize))
            while flow == .keepGoing, decoder.remaining > 0 {
                var target = buffer.mutableSpan
                let count = decoder.decode(into: &target)
                flow = unsafe client.didLoad(buffer.span.extracting(..<count).bytes)
            }
        }
        if pauseOrEnd(after: decoder, flow) { client.didFinishLoading() }
    }

    /// Stores the decoder if the client has paused the load, and ends the load otherwise.
    ///
    /// - Returns: whether the caller must report the end.
    @discardableResult
    private func pauseOrEnd(after decoder: DataURLDecoder, _ flow: Flow) -> Bool {
        state.withLock { state in
            guard case .delivering = state else { return false }
            state = flow == .pause ? .paused(decoder) : .ended
            return flow == .keepGoing
        }
    }

    /// Returns the decoder of a paused load, which then continues; `nil` if the load is not paused.
    private func takePausedDecoder() -> DataURLDecoder? {
        state.withLock { state in
            guard case .paused(let decoder) = state else { return nil }
            state = .delivering
            return decoder
        }
    }
}

extension URLRecord {
    /// The number of bytes before the `#` of the fragment; `nil` if the URL has no fragment.
    fileprivate var fragmentOffset: Int? {
        fragment.map { string.utf8.count - $0.utf8.count - 1 }
    }
}
