// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCookies
import PortolanCore
import PortolanFileSystem
import PortolanJSON
import Synchronization

/// Reads requests, runs them, and writes one response line for each.
///
/// Loads run concurrently up to a limit. At the limit, the server reads no more input. Each load writes its own
/// response line. If the client does not read the output, the loads block, and then the server reads no more input.
final class StdioServer: Sendable {
    /// The maximum number of concurrent loads.
    static let loadLimit = 256
    private static let bodyLimit = 1 << 30
    /// How long the server waits for cancelled loads.
    private static let gracePeriod = Duration.seconds(1)

    private struct State {
        /// The number of loads, including those that have not started yet.
        var loadCount = 0
        var tasks: [ObjectIdentifier: LoadTask] = [:]
        var interruption: ExitStatus?
    }

    /// Makes the responder with the proxy credentials for one load. Loads cannot share a responder, because it counts
    /// how often it sends its credentials.
    private let proxyCredentials: @Sendable () -> ChallengeResponder?
    private let state: KeptState?
    private let cache: KeptCache?
    private let stateLock = ConditionLock(State())
    /// Locked while a line is written, so that lines do not mix.
    private let outputLock = Mutex(())

    /// - Parameters:
    ///   - state: the state folder. The server closes it before a signal ends the program.
    ///   - cache: the cache on disk. The server closes it, too.
    init(
        proxyCredentials: @escaping @Sendable () -> ChallengeResponder? = { nil }, state: KeptState? = nil, cache: KeptCache? = nil
    ) {
        (self.proxyCredentials, self.state, self.cache) = (proxyCredentials, state, cache)
    }

    /// Serves until the input ends and every response line is written.
    func serve(_ input: Descriptor, loaders: StdioLoaders) throws(Failure) {
        var lines = StdioLineReader(input)
        do throws(SystemError) {
            while let line = try lines.next() { handle(line, loaders) }
        } catch {
            waitForLoads()
            throw Failure(.unreadable, "reading standard input failed: \(error)")
        }
        waitForLoads()
        if let interruption = stateLock.withLock({ $0.interruption }) { throw Failure(interruption, nil) }
    }

    var isInterrupted: Bool { stateLock.withLock { $0.interruption != nil } }

    /// Cancels the loads, waits up to ``gracePeriod`` for their response lines, and ends the program.
    func interrupt(_ status: ExitStatus) {
        let tasks = stateLock.withLock { state in
            state.interruption = status
            return Array(state.tasks.values)
        }
        for task in tasks { SignalHandler.runOnSeparateThread { task.cancel() } }
        _ = stateLock.wait(atMost: Self.gracePeriod) { $0.loadCount == 0 ? true : nil }
        cache?.close()
        do throws(Failure) { try state?.close() } catch { Diagnostics.report(error.message ?? "") }
        // SIGTERM is the regular way to end a server, so it is a success.
        (status == .terminated ? ExitStatus.success : status).exitNow()
    }

    private func waitForLoads() {
        stateLock.wait { $0.loadCount == 0 ? () : nil }
    }

    // MARK: One line

    private func handle(_ line: StdioLineReader.Line, _ loaders: StdioLoaders) {
        guard case .bytes(let bytes) = line else {
            let error = LoadError(.limitExceeded, message: "a line is longer than \(StdioLineReader.defaultLimit) bytes")
            return write(StdioResponse.failure(id: .null, error))
        }
        guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return }
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONParser.parse(bytes)
        } catch {
            return write(StdioResponse.failure(id: .null, LoadError(.badRequest, message: error.description)))
        }
        respond(to: json, id: json["id"] ?? .null, loaders)
    }

    private func respond(to json: JSONValue, id: JSONValue, _ loaders: StdioLoaders) {
        do throws(LoadError) {
            switch try StdioRequest(json) {
            case .capabilities: write(StdioResponse.capabilities(id: id, schemes: loaders.schemes))
            case .parseMIMEType(let text): write(StdioResponse.mimeType(id: id, MIMEType(parsing: text)))
            case .parseURL(let url): write(StdioResponse.url(id: id, url))
            case .cookies(let request): write(request.respond(id: id, loaders.cookies))
            case .parseCookieDate(let text): write(StdioResponse.cookieDate(id: id, CookieDate.seconds(in: text.span)))
            case .load(let request): start(request, id: id, loaders[request.redirects])
            case .reset(let stores):
                if stores.contains(.connections) { loaders.closeIdleConnections() }
                if stores.contains(.cookies) { loaders.cookies.removeAll() }
                if stores.contains(.credentials) { loaders.credentials.removeAll() }
                if stores.contains(.hsts) { loaders.strictHosts.removeAll() }
                if stores.contains(.cache) { loaders.cache.removeAll() }
                write(StdioResponse.reset(id: id, stores))
            }
        } catch {
            let isLoad = StdioRequest.isLoad(json)
            write(isLoad ? StdioResponse.load(id: id, StdioOutcome(error: error)) : StdioResponse.failure(id: id, error))
        }
    }

    private func start(_ load: StdioLoadRequest, id: JSONValue, _ loader: Loader) {
        waitForSlot()
        let delegate = StdioLoad(bodyLimit: Self.bodyLimit, credentials: [load.credentials, proxyCredentials()].compactMap { $0 }) {
            [self] task, outcome in
            write(StdioResponse.load(id: id, outcome))
            stateLock.withLockBroadcasting { state in
                state.loadCount -= 1
                state.tasks[ObjectIdentifier(task)] = nil
            }
        }
        var request = load.request
        // The credentials of an earlier request must not replace those of this request.
        request.usesAuthenticatedSpaces = load.credentials == nil
        let task = loader.task(for: request, delegate: delegate)
        let isInterrupted = stateLock.withLock { state in
            state.tasks[ObjectIdentifier(task)] = task
            return state.interruption != nil
        }
        if isInterrupted { task.cancel() }
        task.resume()
    }

    /// Waits until the number of loads is below the limit, and then counts one more load.
    private func waitForSlot() {
        stateLock.wait { state -> Void? in
            guard state.loadCount < Self.loadLimit else { return nil }
            state.loadCount += 1
            return ()
        }
    }

    private func write(_ response: JSONValue) {
        let line = response.bytes + [0x0A]
        let failure = outputLock.withLock { _ -> Failure? in
            do throws(Failure) {
                try StandardOutput.write(line)
                return nil
            } catch {
                return error
            }
        }
        guard let failure else { return }
        // Without a reader the server has nothing to do, and possibly the input never ends.
        if let message = failure.message { Diagnostics.report(message) }
        failure.status.exitNow()
    }
}
