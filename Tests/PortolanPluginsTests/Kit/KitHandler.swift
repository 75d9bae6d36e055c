// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPluginKit
import TestThreads

/// A plugin on the kit in the test's process. `kit:NAME` runs the load with that name, written as an author might write
/// it.
struct KitHandler: RequestChoosing, RequestCanonicalizing {
    static let description = PluginDescription(
        identifier: "org.portolan.kit", name: "Kit", vendor: "The Portolan authors", version: "1.0.0", schemes: ["kit"],
        usesCookies: true)

    struct Settings: Decodable {
        struct Limits: Decodable { var depth: Int? }
        var greeting: String?
        var count: Int?
        var limits: Limits?
    }

    typealias Load = @Sendable (PluginRequest, PluginClient) async throws -> Void

    let settings: Settings
    static let piece = PluginProperty<Int>("org.portolan.kit.piece")
    /// The loads that ended by themselves after the host had stopped them.
    static let late = ConditionLock<[String]>([])
    /// Continuations that are never resumed.
    static let forgotten = unsafe ConditionLock<[UnsafeContinuation<Void, Never>]>([])

    init(host: PluginHost) throws {
        settings = try host.settings()
        if settings.greeting == "refuse" { throw PluginError(.notOffered, message: "the setting 'greeting' is not offered") }
        host.log(.info, "started with \(settings.greeting ?? "nothing")")
    }

    func canInit(_ request: PluginRequest) -> Bool { request.path != "declined" }

    func canonicalRequest(for request: PluginRequest) -> PluginRequestChanges? {
        request.path != "text" || request.query == nil
            ? nil : PluginRequestChanges(url: "kit:\(request.path)", fields: [("x-canonical", "1")])
    }

    func load(_ request: PluginRequest, client: PluginClient) async throws {
        if request.path == "settings" {
            return try await Self.answer("\(settings.greeting ?? "-") \(settings.limits?.depth ?? -1)", client)
        }
        guard let load = try (Self.loads.merging(Self.hostile) { $1 })[request.decodedPath()] else {
            throw PluginError(.notFound, message: "there is no load '\(request.path)'")
        }
        try await load(request, client)
    }

    static func answer(_ text: String, _ client: PluginClient) async throws {
        try await client.didReceive(PluginResponse(mimeType: "text/plain", expectedLength: Int64(text.utf8.count)))
        try await client.didLoad(text)
    }

    static func entry(of major: UInt32) -> PluginEntry? { entry(major) }

    static func count(_ name: String) -> Int { late.withLock { $0.filter { $0 == name }.count } }
    static func wait(for name: String, moreThan count: Int) async throws {
        try await inOwnThread { late.wait { $0.filter { $0 == name }.count > count ? () : nil } }
    }
}

// MARK: Correct loads

extension KitHandler {
    static let loads: [String: Load] = [
        "text": { _, client in try await answer("ahoy", client) },
        "query": { request, client in
            try await answer("\(request.decodedQueryValue("a b") ?? "-"),\(request.decodedQueryValue("c") ?? "-")", client)
        },
        "empty": { _, client in try await client.didReceive(PluginResponse()) },
        "head": { _, client in try await client.didReceive(PluginResponse(expectedLength: 7)) },
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
            let piece = try request.value(of: piece) ?? 1
            try await client.didReceive(PluginResponse())
            for index in 0..<100 { try await client.didLoad([UInt8](repeating: UInt8(index), count: piece)) }
        },
        "run": { _, client in try await deliverRun(client) },
        "parts": { _, client in try await deliverParts(client) },
        "parts-detached": { _, client in try await Task.detached { try await deliverParts(client) }.value },
        "run-detached": { _, client in try await Task.detached { try await deliverRun(client) }.value },
        "run-long": { _, client in
            try await client.didReceive(PluginResponse())
            var left = 10_000
            try await client.didLoad(each: {
                left -= 1
                return left < 0 ? nil : [1]
            })
        },
        "endless": { _, client in
            try await client.didReceive(PluginResponse())
            let piece = [UInt8](repeating: 1, count: 65536)
            while true { try await client.didLoad(piece) }
        },
        "redirect": { request, client in
            try await client.wasRedirected(to: PluginRequestChanges(url: "kit:text"), response: PluginResponse(status: 302))
            try await answer("not followed", client)
        },
        "redirect-bare": { _, client in try await client.wasRedirected(to: PluginRequestChanges(url: "kit:text")) },
        "upload": { request, client in
            try await client.didReceive(PluginResponse(expectedLength: request.bodyLength))
            var total: Int64 = 0
            for try await piece in client.body(pieceSize: 1000) {
                total += Int64(piece.count)
                try await client.didSend(total: total)
                try await client.didLoad(piece)
            }
        },
        "twice": { _, client in
            var text = ""
            for _ in 0..<2 {
                for try await piece in client.body() { text += String(decoding: piece, as: UTF8.self) }
                guard try await client.rewindBody() else { throw PluginError(.bodyFailed, message: "it can't be had again") }
            }
            try await answer(text, client)
        },
        "ask": { request, client in
            let answer = try await client.didReceiveChallenge(PluginChallenge(protocolName: "kit", host: "", realm: "r"))
            switch answer {
            case .use(let credential): try await Self.answer("\(credential.user.text):\(credential.password.text)", client)
            case .cancel: throw PluginError(.authenticationCancelled, message: "cancelled")
            default: throw PluginError(.authenticationRequired, message: "required")
            }
        },
        // Continues with the first result: the answer, or a child task that gives up.
        "ask-in-vain": { request, client in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await client.didReceiveChallenge(PluginChallenge(protocolName: "kit", host: "")) }
                group.addTask { try? await client.didReach(.connected) }
                await group.next()
                group.cancelAll()
            }
            try await answer("gave up", client)
        },
        "nest": { request, client in
            for try await event in client.load(.nested(request.query ?? "")) {
                switch event {
                case .response(let response): try await client.didReceive(PluginResponse(mimeType: response.mimeType))
                case .data(let bytes): try await client.didLoad(bytes)
                }
            }
        },
        "nest-first-piece": { request, client in
            for try await event in client.load(.nested(request.query ?? "")) {
                if case .data = event { break }
            }
            try await answer("enough", client)
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
        "actor": { _, client in try await Courier(client).deliver() },
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
        "hang-before": { _, _ in try await Task.sleep(for: .seconds(3600)) },
        "hang-in-child": { _, client in
            async let child: Void = Task.sleep(for: .seconds(3600))
            try await client.didReceive(PluginResponse())
            try await child
        },
        "hang-detached": { _, client in
            try await client.didReceive(PluginResponse())
            let inner = Task.detached { for try await _ in client.body() {} }
            try await inner.value
        },
        "log": { _, client in
            client.host.log(.warning, "two\nlines")
            try await answer("logged", client)
        },
        "confirm": { _, client in
            guard client.cachedResponse != nil else { throw PluginError(.badRequest, message: "nothing is stored") }
            let stored = try await client.readCachedBody(at: 2)
            try await client.cachedResponseIsValid(newer: PluginResponse(fields: [PluginField(name: "x-stored", value: "\(stored.count)")]))
        },
        "fail": { _, _ in throw PluginError(.accessDenied, message: "no", cause: PluginError(.ioFailed, message: "EACCES")) },
        "fail-later": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didLoad("a")
            throw PluginError(.connectionLost, message: "gone")
        },
        "part-beyond": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didLoad(partsOf: [1, 2]) { 1..<3 }
        },
        "fail-own": { _, _ in throw PluginError(PluginError.Code(rawValue: 7), domain: "org.example.tide", message: "low") },
    ]

    /// Delivers the bytes of "pieces" with one call.
    private static func deliverRun(_ client: PluginClient) async throws {
        try await client.didReceive(PluginResponse(expectedLength: 100))
        var index: UInt8 = 0
        try await client.didLoad(each: {
            guard index < 100 else { return nil }
            defer { index += 1 }
            return [index]
        })
    }

    /// Delivers the bytes of "pieces" as parts of one array.
    private static func deliverParts(_ client: PluginClient) async throws {
        try await client.didReceive(PluginResponse(expectedLength: 100))
        var index = 0
        try await client.didLoad(partsOf: Array(0..<100)) {
            guard index < 100 else { return nil }
            defer { index += 1 }
            return index..<index + 1
        }
    }

    @MainActor private static func deliverOnMain(_ client: PluginClient) async throws { try await answer("main", client) }

    private actor Courier {
        private let client: PluginClient
        init(_ client: PluginClient) { self.client = client }
        func deliver() async throws { try await answer("actor", client) }
    }
}
