// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// One load that runs a command. Each command function reads from top to bottom, because client calls suspend.
final class EchoLoad: Sendable {
    let request: PluginRequest
    let client: PluginClient
    let options: ResponseOptions
    let maximumEcho: Int
    private let command: Command

    init(_ command: Command, _ options: ResponseOptions, for request: PluginRequest, client: PluginClient, maximumEcho: Int) {
        self.command = command
        self.options = options
        self.request = request
        self.client = client
        self.maximumEcho = maximumEcho
    }

    func serve() async throws {
        var delivery = Delivery(to: client, options, method: request.method)
        try await delivery.prelude()
        switch command {
        case .request: try await serveRequest(&delivery)
        case .bytes(let bytes, let isText):
            let type = isText ? "text/plain" : "application/octet-stream"
            try await respond(with: bytes, type: type, charset: isText ? "utf-8" : nil, &delivery)
        case .size(let size):
            guard try await delivery.begin(PluginResponse(mimeType: "application/octet-stream", expectedLength: size)) else { return }
            try await delivery.deliver(size: size)
            try await delivery.end()
        case .upload: try await serveUpload(&delivery)
        case .sink: try await serveSink(&delivery)
        case .redirect(let target): try await redirect(to: target, &delivery)
        case .detour(let next): try await redirect(to: request.urlWithoutUser(query: next), &delivery)
        case .loop: try await redirect(to: request.urlWithoutUser(), &delivery)
        case .challenge(let requiredCredential): try await serveChallenge(requiredCredential, &delivery)
        case .fail(let failure, let after): try await fail(failure, after: after, &delivery)
        case .hang:
            _ = try await delivery.begin(PluginResponse())
            while true { try await Task.sleep(for: .seconds(3600)) }
        }
    }

    /// Delivers a response with these bytes as its body.
    func respond(with bytes: [UInt8], type: String, charset: String?, _ delivery: inout Delivery) async throws {
        let response = PluginResponse(mimeType: type, textEncoding: charset, expectedLength: Int64(bytes.count))
        guard try await delivery.begin(response) else { return }
        try await delivery.deliver(all: bytes)
        try await delivery.end()
    }

    private func redirect(to target: String, _ delivery: inout Delivery) async throws {
        let text = Array(target.utf8)
        let response = PluginResponse(
            status: 302, mimeType: "text/plain", textEncoding: "utf-8", expectedLength: Int64(text.count),
            fields: [PluginField(name: "location", value: target)])
        try await client.wasRedirected(to: PluginRequestChanges(url: target), response: delivery.response(response))
        // The caller does not follow the redirect, and wants the response and its body.
        guard try await delivery.begin(response) else { return }
        try await delivery.deliver(all: text)
        try await delivery.end()
    }

    private func fail(_ failure: PluginError, after count: Int64?, _ delivery: inout Delivery) async throws {
        if let count, try await delivery.begin(PluginResponse(mimeType: "application/octet-stream")) {
            try await delivery.deliver(size: count)
        }
        throw failure
    }
}
