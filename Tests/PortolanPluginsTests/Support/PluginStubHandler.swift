// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// `stub:COUNT` delivers COUNT bytes. `stub:COUNT?fail` then fails, and `stub:COUNT?hang` then delivers nothing more.
final class PluginStubHandler: ProtocolHandler {
    let identifier = "org.portolan.stub"
    let schemes = SchemeSet.only(["stub"])
    /// The number of loads that have been made and have not ended.
    let liveLoadCount = ConditionLock(0)

    static let failure = LoadError(.connectionLost, message: "the stub broke off")

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        StubLoad(request, handler: self, client: client)
    }

    func waitUntilIdle() {
        liveLoadCount.wait { $0 == 0 ? () : nil }
    }

    private final class StubLoad: ProtocolLoad {
        private struct State {
            var remainingCount: Int
            var hasResponded = false
            var isEnded = false
        }

        private let calls = SerialCalls()
        private let state: Mutex<State>
        private let request: Request
        private let handler: PluginStubHandler
        private let client: any ProtocolClient

        init(_ request: Request, handler: PluginStubHandler, client: any ProtocolClient) {
            self.request = request
            self.handler = handler
            self.client = client
            state = Mutex(State(remainingCount: Int(request.url.path) ?? 0))
            handler.liveLoadCount.withLock { $0 += 1 }
        }

        func startLoading() { calls.submit(.start, perform: perform) }
        func resumeLoading() { calls.submit(.resume, perform: perform) }
        func stopLoading() { calls.submit(.stop, perform: perform) }

        private func perform(_ call: SerialCalls.Call) {
            guard call != .stop else { return end() }
            let mustRespond = state.withLock { state in
                defer { state.hasResponded = true }
                return !state.hasResponded
            }
            if mustRespond, client.didReceive(Response(url: request.url, mimeType: .octetStream), storage: .notAllowed) != .keepGoing {
                return
            }
            let piece = [UInt8](repeating: 7, count: 10_000)
            while true {
                let count = state.withLock { state in
                    defer { state.remainingCount -= min(state.remainingCount, piece.count) }
                    return state.isEnded ? -1 : min(state.remainingCount, piece.count)
                }
                guard count > 0 else { return count < 0 ? () : finish() }
                let flow = unsafe piece[..<count].withUnsafeBytes { unsafe client.didLoad($0.bytes) }
                guard flow == .keepGoing else { return }
            }
        }

        private func finish() {
            switch request.url.query {
            case "hang"?: return
            case "fail"?: client.didFail(with: PluginStubHandler.failure)
            default: client.didFinishLoading()
            }
            end()
        }

        private func end() {
            let wasEnded = state.withLock { state in
                defer { state.isEnded = true }
                return state.isEnded
            }
            if !wasEnded { handler.liveLoadCount.withLockBroadcasting { $0 -= 1 } }
        }
    }
}
