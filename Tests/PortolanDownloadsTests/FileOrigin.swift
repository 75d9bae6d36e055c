// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization

/// A server of one file, in the process: it answers ranges, and can lose the connection.
final class FileOrigin: Sendable {
    struct State {
        var bytes: [UInt8]
        /// The number of bytes in each delivery.
        var pieceSize = 1000
        var tag: String? = "\"1\""
        /// After how many bytes of a body the connection is lost; `nil` for never.
        var cut: Int?
        /// At which byte of the file the connection is lost; `nil` for none.
        var lostByte: Int?
        var status = HTTPResponse.Status.ok
        var supportsRanges = true
        /// Whether `If-Range` has no effect.
        var ignoresIfRange = false
        var fields = HTTPFields()
        /// Added to the first byte of each `Content-Range`.
        var rangeError: Int64 = 0
        /// Whether the length of a body is announced.
        var announcesLength = true
        /// Called for each request, before its response.
        var beforeResponse: (@Sendable () -> Void)?
        /// Called before each piece.
        var beforePiece: (@Sendable (Int) async throws -> Void)?
        /// Called before each piece, with its place in the file.
        var beforeBytes: (@Sendable (Int) async throws -> Void)?
        var requests: [Request] = []
    }

    static let url = "http://files.test/archive.bin"

    private let state: Mutex<State>

    init(_ bytes: [UInt8], _ change: (inout State) -> Void = { _ in }) {
        var state = State(bytes: bytes)
        change(&state)
        self.state = Mutex(state)
    }

    func change(_ change: (inout sending State) -> Void) { state.withLock { change(&$0) } }
    var requests: [Request] { state.withLock { $0.requests } }

    var loader: Loader { loader(defaultFields: [:]) }

    func loader(defaultFields: HTTPFields) -> Loader {
        let handler = AsyncHandler(identifier: "test.files", schemes: ["http"]) { [self] request, client in
            try await answer(request, client)
        }
        return PortolanTestSupport.loader(handler) { $0.defaultFields = defaultFields }
    }

    private func answer(_ request: Request, _ client: AsyncClient) async throws {
        let state = self.state.withLock { state in
            state.requests.append(request)
            return state
        }
        state.beforeResponse?()
        var (fields, status, range) = (state.fields, state.status, 0..<Int64(state.bytes.count))
        fields[.eTag] = state.tag
        let (bytes, isCurrent) = (
            Self.bytes(of: request), state.ignoresIfRange || request.fields[.ifRange].map { $0 == state.tag } ?? true
        )
        if status == .ok, state.supportsRanges, let bytes, isCurrent {
            let first = bytes.lowerBound
            if first >= Int64(state.bytes.count) {
                status = .rangeNotSatisfiable
                fields[.contentRange] = "bytes */\(state.bytes.count)"
                range = 0..<0
            } else {
                status = .partialContent
                range = first..<min(range.upperBound, bytes.upperBound)
                fields[.contentRange] = "bytes \(first + state.rangeError)-\(range.upperBound - 1)/\(state.bytes.count)"
            }
        }
        let length = state.announcesLength ? Int64(range.count) : nil
        try await client.didReceive(Response(url: request.url, expectedLength: length, status: status, fields: fields))
        var sent = 0
        for start in stride(from: Int(range.lowerBound), to: Int(range.upperBound), by: state.pieceSize) {
            let piece = state.bytes[start..<min(start + state.pieceSize, Int(range.upperBound))]
            try await state.beforePiece?(sent)
            try await state.beforeBytes?(start)
            let cut = [state.cut.map { $0 - sent }, state.lostByte.flatMap { $0 < start ? nil : $0 - start }].compactMap { $0 }.min()
            if let cut, cut <= piece.count {
                if cut > 0 { try await client.didLoad(Array(piece.prefix(cut))) }
                throw LoadError(.connectionLost, message: "the connection was lost")
            }
            try await client.didLoad(Array(piece))
            sent += piece.count
        }
    }

    /// The bytes that the request asks for; `nil` for all of them.
    private static func bytes(of request: Request) -> Range<Int64>? {
        guard let text = request.fields[.range], text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(ends[0]) else { return nil }
        return first..<(Int64(ends[1]).map { $0 + 1 } ?? .max)
    }
}
