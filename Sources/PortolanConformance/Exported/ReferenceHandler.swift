// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// The reference for the cost of a load: a handler that gives a body of a fixed length immediately, and is called in
/// the same way as the handlers under test.
struct ReferenceHandler: ProtocolHandler {
    let identifier = "org.portolan.judge.reference"
    let schemes = SchemeSet.only(["judge-reference"])
    private let length: Int

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        ReferenceLoad(request, length, client)
    }

    /// An instance of the handler.
    static func instance(length: Int, on instanceContext: InstanceContext) throws(CheckSkipped) -> ProbedInstance {
        let export = ExportedPlugin(Self(length: length))
        let plugin = try unsafe DescribedPlugin(export.pointer, instanceState: export.state, owner: export)
        guard case .started(let instance) = try ProbedInstance.start(plugin, PluginConfiguration(), on: instanceContext) else {
            throw CheckSkipped("the reference handler did not start")
        }
        return instance
    }

    private init(length: Int) { self.length = length }
}

extension Request {
    /// The request that the reference handler accepts.
    static var reference: Request {
        get throws(CheckSkipped) {
            do throws(URLSyntaxError) {
                return Request(url: try URLRecord(parsing: "judge-reference:"))
            } catch {
                throw CheckSkipped("the reference handler has no URL: \(error)")
            }
        }
    }
}

/// Delivers its whole body in `startLoading()`, in pieces of 64 KiB.
private final class ReferenceLoad: ProtocolLoad {
    private let request: Request
    private let length: Int
    private let client: any ProtocolClient
    private static let piece = [UInt8](repeating: 0, count: 64 << 10)

    init(_ request: Request, _ length: Int, _ client: any ProtocolClient) {
        (self.request, self.length, self.client) = (request, length, client)
    }

    func startLoading() {
        guard client.didReceive(Response(url: request.url, expectedLength: Int64(length)), storage: .notAllowed) == .keepGoing else {
            return
        }
        var rest = length
        while rest > 0 {
            let count = min(rest, Self.piece.count)
            rest -= count
            guard unsafe client.didLoad(Self.piece.span.extracting(first: count).bytes) == .keepGoing else { return }
        }
        client.didFinishLoading()
    }

    func stopLoading() {}
    func resumeLoading() {}
}
