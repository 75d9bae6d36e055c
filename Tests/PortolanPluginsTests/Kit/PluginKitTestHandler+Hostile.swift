// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPluginKit

/// Loads whose author has not read the contract. The host must not see a violation of any load.
extension PluginKitTestHandler {
    private struct UnexpectedError: Error, CustomStringConvertible { let description: String }

    static let hostileLoads: [String: LoadFunction] = [
        "no-response": { _, _ in },
        "data-first": { _, client in try await client.didLoad("x") },
        "data-first-ignored": { _, client in
            try? await client.didLoad("x")
            try await respond(with: "ok", to: client)
        },
        "two-responses": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didReceive(PluginResponse())
        },
        "two-responses-ignored": { _, client in
            try await client.didReceive(PluginResponse())
            try? await client.didReceive(PluginResponse())
            try await client.didLoad("ok")
        },
        "data-after-trailers": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didReceiveTrailers([])
            try await client.didLoad("x")
        },
        "interim-late": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didReceiveInterim(PluginResponse(status: 100))
        },
        "redirect-late": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.wasRedirected(to: PluginRequestChanges(url: "kit:text"))
        },
        "too-long": { _, client in
            try await client.didReceive(PluginResponse(expectedLength: 1))
            try await client.didLoad("xy")
        },
        "too-short": { _, client in try await client.didReceive(PluginResponse(expectedLength: 1)) },
        "bad-mime": { _, client in try await client.didReceive(PluginResponse(mimeType: "text plain")) },
        "bad-status": { _, client in try await client.didReceive(PluginResponse(status: 100)) },
        "bad-interim": { _, client in try await client.didReceiveInterim(PluginResponse(status: 200)) },
        "bad-field": { _, client in try await client.didReceive(PluginResponse(fields: [PluginField(name: "a", value: "b\r\nc: d")])) },
        "bad-trailer": { _, client in
            try await client.didReceive(PluginResponse())
            try await client.didReceiveTrailers([PluginField(name: "a b", value: "")])
        },
        "bad-length": { _, client in try await client.didReceive(PluginResponse(expectedLength: -2)) },
        "bad-redirect": { _, client in try await client.wasRedirected(to: PluginRequestChanges(url: "//relative")) },
        "bad-realm": { _, client in _ = try await client.didReceiveChallenge(PluginChallenge(protocolName: "kit", host: "", realm: "a\nb"))
        },
        "bad-sent": { _, client in try await client.didSend(total: -1) },
        "bad-nested": { request, client in
            for try await _ in client.load(PluginRequestChanges(url: "kit:text", method: "G T")) {}
        },
        "two-challenges": { _, client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask { _ = try await client.didReceiveChallenge(PluginChallenge(protocolName: "kit", host: "")) }
                }
                while try await group.next() != nil {}
            }
        },
        "confirms-nothing": { _, client in try await client.cachedResponseIsValid() },
        "throws-odd": { _, _ in throw UnexpectedError(description: "first\nsecond") },
        "throws-long": { _, _ in throw UnexpectedError(description: String(repeating: "\u{1F30A}", count: 4000)) },
        "throws-empty": { _, _ in throw PluginError(.badURL, message: "") },
        "throws-unpublished": { _, _ in throw PluginError(PluginError.Code(rawValue: -4711), message: "odd") },
        "throws-the-hosts": { _, _ in throw PluginError(PluginError.Code(rawValue: -30), message: "odd") },
        "throws-bad-domain": { _, _ in throw PluginError(PluginError.Code(rawValue: 3), domain: "no domain", message: "odd") },
        "throws-retries": { _, _ in
            var error = PluginError(.connectionLost, message: "the first attempt failed")
            for attempt in 2...100_000 { error = PluginError(.connectionLost, message: "attempt \(attempt) failed", cause: error) }
            throw error
        },
        "throws-cancelled": { _, _ in throw CancellationError() },
        "cancels-itself": { _, client in
            try await client.didReceive(PluginResponse())
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await client.didLoad("ok")
        },
        // A task that outlives the load and continues to call the client.
        "outlives": { request, client in
            try await client.didReceive(PluginResponse())
            Task.detached {
                var refusedCallCount = 0
                while refusedCallCount < 3 {
                    do {
                        try await client.didLoad("late")
                        await Task.yield()
                    } catch {
                        refusedCallCount += 1
                    }
                }
                namesEndedAfterStop.withLockBroadcasting { $0.append("outlives") }
            }
        },
        // Ignores the cancellation of its task.
        "deaf": { _, client in
            try await client.didReceive(PluginResponse())
            while true {
                do {
                    try await client.didLoad("x")
                } catch {
                    break
                }
            }
            for _ in 0..<1000 { await Task.yield() }
            try? await client.didLoad("y")
            namesEndedAfterStop.withLockBroadcasting { $0.append("deaf") }
        },
        "spins": { _, client in
            try await client.didReceive(PluginResponse())
            while !Task.isCancelled { await Task.yield() }
        },
        "never": { _, client in
            try await client.didReceive(PluginResponse())
            unsafe await withUnsafeContinuation { continuation in
                unsafe PluginKitTestHandler.neverResumed.withLock { unsafe $0.append(continuation) }
            }
        },
    ]
}
