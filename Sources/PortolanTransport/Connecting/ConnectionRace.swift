// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Connects to the first of several addresses that responds (Happy Eyeballs). Runs on its event loop only.
///
/// The address families alternate. The family of the first address in the system's order (RFC 6724) is the first. The
/// next address is tried when one has failed, or has not responded within ``delay``.
///
/// RFC 8305 §4, §5
final class ConnectionRace: @unchecked Sendable {  // … because it is touched on its event loop only
    /// RFC 8305 §5: the recommended Connection Attempt Delay.
    static let delay = Duration.milliseconds(250)
    /// The maximum number of addresses to try for one host.
    static let mostAddresses = 64

    private let loop: SocketEventLoop
    private var rest: ArraySlice<SocketAddress>
    private var runners: [Runner] = []
    private var timer: ScheduledTimer?
    private var completion: ((Result<(Socket, SocketAddress), SocketError>) -> Void)?
    private var lastError = SocketError.system(EHOSTUNREACH)

    /// - Parameters:
    ///   - addresses: at least one.
    ///   - completion: called once, unless the race is cancelled. It may be called from within ``start()``.
    init(
        to addresses: [SocketAddress], on loop: SocketEventLoop,
        completion: @escaping (Result<(Socket, SocketAddress), SocketError>) -> Void
    ) {
        self.loop = loop
        self.completion = completion
        rest = Self.interleaved(addresses).prefix(Self.mostAddresses)
    }

    func start() { tryNext() }

    func cancel() {
        completion = nil
        stop()
    }

    /// Alternates IPv6 and IPv4 (RFC 8305 §4).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        let preferred = addresses.filter { $0.isIPv6 == first.isIPv6 }
        let others = addresses.filter { $0.isIPv6 != first.isIPv6 }
        return (0..<max(preferred.count, others.count)).flatMap { index in
            [preferred, others].compactMap { index < $0.count ? $0[index] : nil }
        }
    }

    private func tryNext() {
        timer?.cancel()
        timer = nil
        while completion != nil, let address = rest.popFirst() {
            guard let socket = Socket.make(address.family) else {
                lastError = .system(errno)
                continue
            }
            switch socket.connect(to: address) {
            case 0: return finish(socket, address)
            case EINPROGRESS:
                let runner = Runner(socket, address, in: self, on: loop)
                guard runner.start() else {
                    lastError = .system(errno)
                    continue
                }
                runners.append(runner)
                return waitForNext()
            case let error: lastError = .system(error)
            }
        }
        if runners.isEmpty, let completion {
            self.completion = nil
            completion(.failure(lastError))
        }
    }

    private func waitForNext() {
        guard !rest.isEmpty else { return }
        timer = loop.schedule(after: Self.delay) { [weak self] in self?.tryNext() }
    }

    fileprivate func didConnect(_ runner: Runner, _ error: CInt) {
        guard let index = runners.firstIndex(where: { $0 === runner }) else { return }
        runners.remove(at: index)
        runner.stop()
        guard error != 0 else { return finish(runner.socket, runner.address) }
        lastError = .system(error)
        tryNext()
    }

    private func finish(_ socket: Socket, _ address: SocketAddress) {
        let completion = completion
        self.completion = nil
        stop()
        if let completion { completion(.success((socket, address))) } else { socket.close() }
    }

    private func stop() {
        timer?.cancel()
        timer = nil
        for runner in runners {
            runner.stop()
            runner.socket.close()
        }
        runners = []
    }

    /// One socket that is connecting.
    fileprivate final class Runner: PolledSocket {
        let socket: Socket
        let address: SocketAddress
        private weak var race: ConnectionRace?
        private let loop: SocketEventLoop
        private(set) var mark: UInt64 = 0

        init(_ socket: Socket, _ address: SocketAddress, in race: ConnectionRace, on loop: SocketEventLoop) {
            self.socket = socket
            self.address = address
            self.race = race
            self.loop = loop
        }

        /// - Returns: whether the poller watches the socket.
        func start() -> Bool {
            mark = loop.add(self)
            guard loop.poller.watch(socket.descriptor, for: .write, mark: mark) else {
                loop.remove(self)
                return false
            }
            return true
        }

        func stop() {
            loop.poller.forget(socket.descriptor)
            loop.remove(self)
        }

        func handle(_ happened: SocketPoller.Interest) { race?.didConnect(self, socket.connectError) }
    }
}
