// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// The commands that read the upload body.
extension EchoLoad {
    /// Delivers each piece before it reads the next. A slow reader slows the upload, and a slow upload delays the
    /// reader.
    func serveUpload(_ delivery: inout Delivery) async throws {
        let content = request.field("content-type").flatMap { ContentType(parsing: $0) }
        let response = PluginResponse(
            mimeType: content?.type ?? "application/octet-stream", textEncoding: content?.charset, expectedLength: request.bodyLength)
        guard try await delivery.begin(response) else { return }
        try await readBody { piece in try await delivery.deliver(piece) }
        try await delivery.end()
    }

    /// Reads the whole body and returns its length.
    func serveSink(_ delivery: inout Delivery) async throws {
        let total = try await readBody { _ in }
        try await respond(with: Array("\(total)".utf8), type: "text/plain", charset: "utf-8", &delivery)
    }

    /// Returns the request with its body as JSON.
    func serveRequest(_ delivery: inout Delivery) async throws {
        if let length = request.bodyLength, length > maximumEcho { throw tooLarge }
        var body: [UInt8] = []
        try await readBody { piece in
            guard body.count + piece.count <= maximumEcho else { throw tooLarge }
            body += piece
        }
        try await respond(with: Array(RequestReport.json(request, body: body).utf8), type: "application/json", charset: nil, &delivery)
    }

    private var tooLarge: PluginError {
        PluginError(
            .limitExceeded,
            message:
                "the body is larger than the \(maximumEcho) bytes that echo:request takes; use echo:upload, or raise the setting 'maximumEcho'"
        )
    }

    /// Reads the body to its end in pieces, and reports the progress after each piece.
    ///
    /// - Returns: the length of the body in bytes.
    @discardableResult
    private func readBody(_ handlePiece: (ArraySlice<UInt8>) async throws -> Void) async throws -> Int64 {
        var buffer = [UInt8](repeating: 0, count: options.piece)
        var total: Int64 = 0
        while true {
            let count = try await client.readBody(into: &buffer)
            guard count > 0 else { break }
            total += Int64(count)
            try await client.didSend(total: total)
            try await handlePiece(buffer[..<count])
        }
        if !options.steps.contains(.requestSent) { try await client.didReach(.requestSent) }
        return total
    }
}
