// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPluginKit
import TestThreads

/// A plugin that is made with `PortolanPluginKit` and runs in the process of the test.
///
/// `kit:NAME` runs the load with that name. Each load is written as the author of a plugin might write it.
struct PluginKitTestHandler: RequestChoosing, RequestCanonicalizing {
    static let description = PluginDescription(
        identifier: "org.portolan.kit", name: "Kit", vendor: "The Portolan authors", version: "1.0.0", schemes: ["kit"],
        usesCookies: true, isCacheable: true)

    struct Settings: Decodable {
        struct Limits: Decodable { var depth: Int? }
        var greeting: String?
        var count: Int?
        var limits: Limits?
    }

    typealias LoadFunction = @Sendable (PluginRequest, PluginClient) async throws -> Void

    let settings: Settings
    static let pieceSize = PluginProperty<Int>("org.portolan.kit.piece")
    /// The names of the loads that ended by themselves after the host had stopped them.
    static let namesEndedAfterStop = ConditionLock<[String]>([])
    /// Continuations that are never resumed.
    static let neverResumed = unsafe ConditionLock<[UnsafeContinuation<Void, Never>]>([])

    init(host: PluginHost) throws {
        settings = try host.settings()
        if settings.greeting == "refuse" {
            throw PluginError(.notOffered, message: "the value 'refuse' of the setting 'greeting' is not accepted")
        }
        host.log(.info, "started with \(settings.greeting ?? "nothing")")
    }

    func canInit(_ request: PluginRequest) -> Bool { request.path != "declined" }

    func canonicalRequest(for request: PluginRequest) -> PluginRequestChanges? {
        request.path != "text" || request.query == nil
            ? nil : PluginRequestChanges(url: "kit:\(request.path)", fields: [("x-canonical", "1")])
    }

    func load(_ request: PluginRequest, client: PluginClient) async throws {
        if request.path == "settings" {
            return try await Self.respond(with: "\(settings.greeting ?? "-") \(settings.limits?.depth ?? -1)", to: client)
        }
        guard let load = try (Self.correctLoads.merging(Self.hostileLoads) { $1 })[request.decodedPath()] else {
            throw PluginError(.notFound, message: "there is no load '\(request.path)'")
        }
        try await load(request, client)
    }

    static func respond(with text: String, to client: PluginClient) async throws {
        try await client.didReceive(PluginResponse(mimeType: "text/plain", expectedLength: Int64(text.utf8.count)))
        try await client.didLoad(text)
    }

    static func entry(contractMajor: UInt32) -> PluginEntry? { entry(contractMajor) }

    static func lateEndCount(of name: String) -> Int { namesEndedAfterStop.withLock { $0.filter { $0 == name }.count } }
    static func waitForLateEnds(of name: String, moreThan count: Int) async throws {
        try await inOwnThread { namesEndedAfterStop.wait { $0.filter { $0 == name }.count > count ? () : nil } }
    }
}

// MARK: Correct loads

extension PluginKitTestHandler {
    static let correctLoads: [String: LoadFunction] = [
        "text": { _, client in try await respond(with: "ahoy", to: client) },
        "query": { request, client in
            try await respond(with: "\(request.decodedQueryValue("a b") ?? "-"),\(request.decodedQueryValue("c") ?? "-")", to: client)
        },
        "empty": { _, client in try await client.didReceive(PluginResponse()) },
        "response-only": { _, client in try await client.didReceive(PluginResponse(expectedLength: 7)) },
        "all": { _, client in
            try await client.didReach(.connected)
            try await client.didReceiveInterim(PluginResponse(status: 103, fields: [PluginField(name: "link", value: "</a>")]))
            try await client.didReceive(
                PluginResponse(
                    status: 200, url: "kit:elsewhere", mimeType: "text/csv", textEncoding: "utf-8", suggestedName: "a.csv",
                    expectedLength: 4, fields: [PluginField(name: "X-Latin", value: "\u{E9}")], storage: .allowed))
            try await client.didLoad("ah")
            try await client.didLoad(Array("oy".utf8))
            try await client.didReceiveTrailers([PluginField(name: "x-sum", value: "1")])
        },
        "pieces": { request, client in
            let size = try request.value(of: pieceSize) ?? 1
            try await client.didReceive(PluginResponse())
            for index in 0..<100 { try await client.didLoad([UInt8](repeating: UInt8(index), count: size)) }
        },
        "each": { _, client in try await deliverEach(client) },
        "slices": { _, client in try await deliverSlices(client) },
        "slices-detached": { _, client in try await Task.detached { try await deliverSlices(client) }.value },
        "each-detached": { _, client in try await Task.detached { try await deliverEach(client) }.value },
        "each-long": { _, client in
            try await client.didReceive(PluginResponse())
            var remainingPieces = 10_000
            try await client.didLoad(each: {
                remainingPieces -= 1
                return remainingPieces < 0 ? nil : [1]
            })
        },
        "endless": { _, client in
            try await client.didReceive(PluginResponse())
            let piece = [UInt8](repeating: 1, count: 65536)
            while true { try await client.didLoad(piece) }
        },
        "redirect": { request, client in
            try await client.wasRedirected(to: PluginRequestChanges(url: "kit:text"), response: PluginResponse(status: 302))
            try await respond(with: "not followed", to: client)
        },
        "redirect-without-response": { _, client in try await client.wasRedirected(to: PluginRequestChanges(url: "kit:text")) },
        "upload": { request, client in
            try await client.didReceive(PluginResponse(expectedLength: request.bodyLength))
            var total: Int64 = 0
            for try await piece in client.body(pieceSize: 1000) {
                total += Int64(piece.count)
                try await client.didSend(total: total)
                try await client.didLoad(piece)
            }
        },
        "read-body-twice": { _, client in
            var text = ""
            for _ in 0..<2 {
                for try await piece in client.body() { text += String(decoding: piece, as: UTF8.self) }
                guard try await client.rewindBody() else { throw PluginError(.bodyFailed, message: "the body can't be read a second time") }
            }
            try await respond(with: text, to: client)
        },
        "challenge": { request, client in
            let answer = try await client.didReceiveChallenge(PluginChallenge(protocolName: "kit", host: "", realm: "r"))
            switch answer {
            case .use(let credential): try await Self.respond(with: "\(credential.user.text):\(credential.password.text)", to: client)
            case .cancel: throw PluginError(.authenticationCancelled, message: "cancelled")
            default: throw PluginError(.authenticationRequired, message: "required")
            }
        },
        // Waits until the second child task ends, because the challenge gets no answer. Then cancels the challenge.
        "cancelled-challenge": { request, client in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await client.didReceiveChallenge(PluginChallenge(protocolName: "kit", host: "")) }
                group.addTask { try? await client.didReach(.connected) }
                await group.next()
                group.cancelAll()
            }
            try await respond(with: "gave up", to: client)
        },
        "nested": { request, client in
            for try await event in client.load(.nested(request.query ?? "")) {
                switch event {
                case .response(let response): try await client.didReceive(PluginResponse(mimeType: response.mimeType))
                case .data(let bytes): try await client.didLoad(bytes)
                }
            }
        },
        "stop-nested-early": { request, client in
            for try await event in client.load(.nested(request.query ?? "")) {
                if case .data = event { break }
            }
            try await respond(with: "enough", to: client)
        },
        "children": { _, client in
            try await client.didReceive(PluginResponse())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { for _ in 0..<20 { try await client.didLoad("x") } } }
                try await group.waitForAll()
            }
        },
        "detached": { _, client in
            try await Task.detached {
                try await client.didReceive(PluginResponse())
                for _ in 0..<20 { try await client.didLoad("x") }
            }.value
        },
        "actor": { _, client in try await DeliveringActor(client).deliver() },
        "main": { _, client in try await deliverOnMain(client) },
        "sleep": { _, client in
            try await client.didReceive(PluginResponse())
            try await Task.sleep(for: .milliseconds(1))
            try await client.didLoad("woken")
        },
        "hang": { _, client in
            try await client.didReceive(PluginResponse())
            try await Task.sleep(for: .seconds(3600))
        },
        "hang-before-response": { _, _ in try await Task.sleep(for: .seconds(3600)) },
        "hang-in-child": { _, client in
            async let child: Void = Task.sleep(for: .seconds(3600))
            try await client.didReceive(PluginResponse())
            try await child
        },
        "hang-detached": { _, client in
            try await client.didReceive(PluginResponse())
            let readingTask = Task.detached { for try await _ in client.body() {} }
            try await readingTask.value
        },
        "log": { _, client in
            client.host.log(.warning, "two\nlines")
            try await respond(with: "logged", to: client)
        },
        "revalidate": { _, client in
            guard client.cachedResponse != nil else { throw PluginError(.badRequest, message: "nothing is stored") }
            let storedBytes = try await client.readCachedBody(at: 2)
            try await client.cachedResponseIsValid(
                newer: PluginResponse(fields: [PluginField(name: "x-stored", value: "\(storedBytes.count)")]))
        },
        // Compares the validator of the stored response with that of the source, which is in the query.
        "validate": { request, client in
            let tag = "\"\(request.query ?? "")\""
            if client.cachedResponse?.fields.first(where: { $0.name.lowercased() == "etag" })?.value == tag {
                return try await client.cachedResponseIsValid()
            }
            try await client.didReceive(PluginResponse(fields: [PluginField(name: "etag", value: tag)], storage: .allowed))
            try await client.didLoad("new")
        },
        // Delivers pieces of the stored body, in another order.
        "read-cached": { _, client in
            try await client.didReceive(PluginResponse())
            for (offset, count) in [(4, 2), (0, 3), (5, .max), (6, 1), (-1, 1), (.max, 1), (0, 0), (0, -1)] as [(Int64, Int)] {
                try await client.didLoad(client.readCachedBody(at: offset, count: count) + Array(";".utf8))
            }
        },
        "fail": { _, _ in throw PluginError(.accessDenied, message: "no", cause: PluginError(.ioFailed, message: "EACCES")) },
        "fail-later": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didLoad("a")
            throw PluginError(.connectionLost, message: "gone")
        },
        "slice-out-of-bounds": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didLoad(partsOf: [1, 2]) { 1..<3 }
        },
        "fail-with-own-domain": { _, _ in throw PluginError(PluginError.Code(rawValue: 7), domain: "org.example.tide", message: "low") },
    ]

    /// Delivers the same bytes as the load "pieces", with one call of `didLoad(each:)`.
    private static func deliverEach(_ client: PluginClient) async throws {
        try await client.didReceive(PluginResponse(expectedLength: 100))
        var index: UInt8 = 0
        try await client.didLoad(each: {
            guard index < 100 else { return nil }
            defer { index += 1 }
            return [index]
        })
    }

    /// Delivers the same bytes as the load "pieces", as slices of one array.
    private static func deliverSlices(_ client: PluginClient) async throws {
        try await client.didReceive(PluginResponse(expectedLength: 100))
        var index = 0
        try await client.didLoad(partsOf: Array(0..<100)) {
            guard index < 100 else { return nil }
            defer { index += 1 }
            return index..<index + 1
        }
    }

    @MainActor private static func deliverOnMain(_ client: PluginClient) async throws { try await respond(with: "main", to: client) }

    private actor DeliveringActor {
        private let client: PluginClient
        init(_ client: PluginClient) { self.client = client }
        func deliver() async throws { try await respond(with: "actor", to: client) }
    }
}
