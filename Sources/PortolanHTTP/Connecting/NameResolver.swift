// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Synchronization

/// Asks a name service for the addresses of one host, as SwiftNIO wants it. For one use, on one event loop.
final class NameResolver: Resolver, Sendable {
    private let names: NameService
    private let ipv4: EventLoopPromise<[SocketAddress]>
    private let ipv6: EventLoopPromise<[SocketAddress]>
    private let whenFound: @Sendable () -> Void
    private let state = Mutex(State.idle)

    private enum State {
        case idle
        case asked(NameService.Question)
        case cancelled
    }

    /// - Parameter whenFound: called on the event loop where the host has an address.
    init(_ names: NameService, on eventLoop: any EventLoop, whenFound: @escaping @Sendable () -> Void = {}) {
        self.names = names
        ipv4 = eventLoop.makePromise()
        ipv6 = eventLoop.makePromise()
        self.whenFound = whenFound
    }

    // The AAAA query is the first to be asked for (NIOPosix, happy eyeballs), and asks for both.

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        if case .idle = state.withLock({ $0 }) {
            let question = names.find(host) { [self] answer in complete(answer.map { addresses in addresses.map { $0.with(port) } }) }
            state.withLock { $0 = .asked(question) }
        } else {
            complete(.failure(CancellationError()))
        }
        return ipv6.futureResult
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { ipv4.futureResult }

    /// The queries fail, where they have no answer yet.
    func cancelQueries() {
        let question = state.withLock { state -> NameService.Question? in
            defer { state = .cancelled }
            guard case .asked(let question) = state else { return nil }
            return question
        }
        if let question, names.withdraw(question) { complete(.failure(CancellationError())) }
    }

    private func complete(_ answer: NameService.Answer) {
        ipv6.futureResult.eventLoop.execute { [self] in
            switch answer {
            case .success(let addresses):
                whenFound()
                ipv6.succeed(addresses.filter { $0.protocol == .inet6 })
                ipv4.succeed(addresses.filter { $0.protocol == .inet })
            case .failure(let error):
                ipv6.fail(error)
                ipv4.fail(error)
            }
        }
    }
}

extension SocketAddress {
    fileprivate func with(_ port: Int) -> SocketAddress {
        var address = self
        address.port = port
        return address
    }
}
