// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Connects to the first of several addresses that responds (Happy Eyeballs). Use it on its event loop only.
///
/// IPv6 and IPv4 addresses alternate. The system's order (RFC 6724) decides which family is first. The race tries the
/// next address when an address has failed, or has not responded within ``delay``.
///
/// RFC 8305 §4, §5
final class ConnectionRace: @unchecked Sendable {  // … because only code on its event loop uses it
    /// RFC 8305 §5: the recommended Connection Attempt Delay.
    static let delay = Duration.milliseconds(250)
    /// The maximum number of addresses to try for one host.
    static let maximumAddressCount = 64

    private let loop: SocketEventLoop
    private let service: NetworkServiceType
    private var remainingAddresses: ArraySlice<SocketAddress>
    private var connectingSockets: [ConnectingSocket] = []
    private var timer: ScheduledTimer?
    private var completion: ((Result<(Socket, SocketAddress), SocketError>) -> Void)?
    /// The error to report.
    private var lastError: SocketError?

    /// - Parameters:
    ///   - addresses: at least one address.
    ///   - completion: called once, unless the race is cancelled. It can be called inside ``start()``.
    init(
        to addresses: [SocketAddress], on loop: SocketEventLoop, for service: NetworkServiceType,
        completion: @escaping (Result<(Socket, SocketAddress), SocketError>) -> Void
    ) {
        (self.loop, self.service) = (loop, service)
        self.completion = completion
        remainingAddresses = Self.interleaved(addresses).prefix(Self.maximumAddressCount)
    }

    func start() { tryNext() }

    func cancel() {
        completion = nil
        stop()
    }

    /// Alternates IPv6 and IPv4 (RFC 8305 §4).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        let preferredFamily = addresses.filter { $0.isIPv6 == first.isIPv6 }
        let otherFamily = addresses.filter { $0.isIPv6 != first.isIPv6 }
        return (0..<max(preferredFamily.count, otherFamily.count)).flatMap { index in
            [preferredFamily, otherFamily].compactMap { index < $0.count ? $0[index] : nil }
        }
    }

    private func tryNext() {
        timer?.cancel()
        timer = nil
        while completion != nil, let address = remainingAddresses.popFirst() {
            guard let socket = Socket.make(address.family, for: service) else {
                record(errno)
                continue
            }
            switch socket.connect(to: address) {
            case 0: return finish(socket, address)
            case EINPROGRESS:
                let connectingSocket = ConnectingSocket(socket, address, in: self, on: loop)
                guard connectingSocket.start() else {
                    record(errno)
                    continue
                }
                connectingSockets.append(connectingSocket)
                return waitForNext()
            case let error: record(error)
            }
        }
        if connectingSockets.isEmpty, let completion {
            self.completion = nil
            completion(.failure(lastError ?? .system(EHOSTUNREACH)))
        }
    }

    /// Records an error. An error such as a missing route does not replace another error, such as a refused connection,
    /// which says more.
    private func record(_ number: CInt) {
        let error = SocketError.system(number)
        if let lastError, error.isForLackOfNetwork, !lastError.isForLackOfNetwork { return }
        lastError = error
    }

    /// Starts the timer after which the race tries the next address.
    private func waitForNext() {
        guard !remainingAddresses.isEmpty else { return }
        timer = loop.schedule(after: Self.delay) { [weak self] in self?.tryNext() }
    }

    /// - Parameter error: the errno of connect(2), or 0.
    fileprivate func didConnect(_ connectingSocket: ConnectingSocket, _ error: CInt) {
        guard let index = connectingSockets.firstIndex(where: { $0 === connectingSocket }) else { return }
        connectingSockets.remove(at: index)
        connectingSocket.stop()
        guard error != 0 else { return finish(connectingSocket.socket, connectingSocket.address) }
        record(error)
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
        for connectingSocket in connectingSockets {
            connectingSocket.stop()
            connectingSocket.socket.close()
        }
        connectingSockets = []
    }

    /// A socket that is connecting.
    fileprivate final class ConnectingSocket: PolledSocket {
        let socket: Socket
        let address: SocketAddress
        private weak var race: ConnectionRace?
        private let loop: SocketEventLoop
        private(set) var pollID: UInt64 = 0

        init(_ socket: Socket, _ address: SocketAddress, in race: ConnectionRace, on loop: SocketEventLoop) {
            self.socket = socket
            self.address = address
            self.race = race
            self.loop = loop
        }

        /// - Returns: whether the poller watches the socket.
        func start() -> Bool {
            pollID = loop.add(self)
            guard loop.poller.watch(socket.descriptor, for: .write, pollID: pollID) else {
                loop.remove(self)
                return false
            }
            return true
        }

        func stop() {
            loop.poller.stopWatching(socket.descriptor)
            loop.remove(self)
        }

        func handle(_ events: SocketPoller.Interest) { race?.didConnect(self, socket.connectError) }
    }
}
