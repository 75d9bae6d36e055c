// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// Delivers one response to the client with the URL's options: response, pieces, pauses, cut, trailers.
struct Delivery: ~Copyable {
    private let client: PluginClient
    private let options: ResponseOptions
    private let isHeadOnly: Bool
    /// Whether only the caller's own cache can store the response.
    var isPrivate = false
    private var deliveredCount: Int64 = 0
    /// The expected length of the response; `nil` if it is unknown.
    private var announcedLength: Int64?

    init(to client: PluginClient, _ options: ResponseOptions, method: String) {
        self.client = client
        self.options = options
        isHeadOnly = method == "HEAD"
    }

    /// Delivers the steps and the interim responses, then waits, before the command runs.
    func prelude() async throws {
        for step in options.steps { try await client.didReach(step) }
        for status in options.interim { try await client.didReceiveInterim(PluginResponse(status: status)) }
        if options.wait > .zero { try await Task.sleep(for: options.wait) }
    }

    /// Returns the command's response, changed by the URL's options.
    func response(_ commandResponse: PluginResponse) -> PluginResponse {
        var response = commandResponse
        if let status = options.status { response.status = status }
        if let type = options.type { (response.mimeType, response.textEncoding) = (type, nil) }
        if let charset = options.charset { response.textEncoding = charset }
        if let name = options.name { response.suggestedName = name }
        switch options.length {
        case .own: break
        case .unknown: response.expectedLength = nil
        case .exactly(let length): response.expectedLength = length
        }
        response.fields += options.fields
        guard options.isStorable else { return response }
        if let tag = options.entityTag { response.fields.append(PluginField(name: "etag", value: tag.text)) }
        let directives = (isPrivate ? ["private"] : []) + (options.maxAge.map { ["max-age=\($0)"] } ?? [])
        if !directives.isEmpty { response.fields.append(PluginField(name: "cache-control", value: directives.joined(separator: ", "))) }
        response.storage = .allowed
        return response
    }

    /// Delivers the response, or confirms the stored response if it has the same entity tag.
    ///
    /// - Returns: whether to deliver a body; false for HEAD, and after a confirmation.
    mutating func begin(_ commandResponse: PluginResponse) async throws -> Bool {
        let response = response(commandResponse)
        if let tag = options.entityTag, let storedResponse = client.cachedResponse, tag.matches(storedResponse) {
            try await client.cachedResponseIsValid(newer: PluginResponse(fields: response.fields))
            return false
        }
        announcedLength = response.expectedLength
        try await client.didReceive(response)
        guard !isHeadOnly else { return false }
        try failAtCut()
        return true
    }

    /// Delivers one piece. Pauses first if there was an earlier piece.
    mutating func deliver(_ bytes: ArraySlice<UInt8>) async throws {
        guard !bytes.isEmpty else { return }
        if deliveredCount > 0, options.pause > .zero { try await Task.sleep(for: options.pause) }
        let count = min(Int64(bytes.count), (options.cut ?? .max) - deliveredCount)
        if let announcedLength, deliveredCount + count > announcedLength {
            throw PluginError(
                .badResponse, message: "the body has more than the \(announcedLength) bytes that the URL announced by 'length'")
        }
        try await client.didLoad(count == bytes.count ? bytes : bytes.prefix(Int(count)))
        deliveredCount += count
        try failAtCut()
    }

    /// Delivers all bytes in pieces.
    mutating func deliver(all bytes: [UInt8]) async throws {
        for start in stride(from: 0, to: bytes.count, by: options.piece) {
            try await deliver(bytes[start..<min(start + options.piece, bytes.count)])
        }
    }

    /// Delivers `size` bytes of the ``Pattern`` in constant memory.
    mutating func deliver(size: Int64) async throws {
        guard size > 0 else { return }
        let pattern = Pattern(piece: Int(min(size, Int64(options.piece))))
        if options.pause == .zero, options.cut == nil, size <= announcedLength.map({ $0 - deliveredCount }) ?? .max {
            return try await deliver(all: pattern, size: size)
        }
        var offset: Int64 = 0
        while offset < size {
            let count = min(size - offset, Int64(options.piece))
            try await deliver(pattern.piece(at: offset, count: Int(count)))
            offset += count
        }
    }

    /// Fast path of ``deliver(size:)``, without pauses and cut, and with at most the announced length.
    private mutating func deliver(all pattern: Pattern, size: Int64) async throws {
        let piece = Int64(options.piece)
        var offset: Int64 = 0
        try await client.didLoad(partsOf: pattern.block) {
            guard offset < size else { return nil }
            let count = min(size - offset, piece)
            defer { offset += count }
            return pattern.range(of: offset, count: Int(count))
        }
        deliveredCount += size
    }

    /// Completes a body: checks the body's length and delivers the trailers.
    func end() async throws {
        if let announcedLength, deliveredCount < announcedLength {
            throw PluginError(
                .truncated,
                message: "the body ended after \(deliveredCount) of the \(announcedLength) bytes that the URL announced by 'length'")
        }
        if !options.trailers.isEmpty { try await client.didReceiveTrailers(options.trailers) }
    }

    /// Fails the load if all bytes before the URL's `cut` were delivered.
    private func failAtCut() throws {
        if let cut = options.cut, deliveredCount >= cut {
            throw PluginError(.truncated, message: "the body was cut after \(cut) bytes, as the URL asked")
        }
    }
}
