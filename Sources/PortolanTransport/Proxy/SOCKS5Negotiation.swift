// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax

/// Requests a connection to an origin from a SOCKS5 proxy.
///
/// RFC 1928, RFC 1929
struct SOCKS5Negotiation: TunnelNegotiation {
    /// The destination: an address, or a name that the proxy resolves.
    enum Destination: Equatable, Sendable {
        case name(String)
        case address(IPAddress)
    }

    private enum State {
        case greeted
        case loggingIn
        case requested
        case established
    }

    private static let version: UInt8 = 5
    private static let (noLogin, login, noneAcceptable): (UInt8, UInt8, UInt8) = (0x00, 0x02, 0xFF)

    let greeting: [UInt8]
    private let proxy: Proxy
    private let loginMessage: [UInt8]?
    private let request: [UInt8]
    /// The origin, for messages.
    private let target: String
    private var state = State.greeted
    /// Bytes of an incomplete message. There are at most 262, the length of the longest reply.
    private var message: [UInt8] = []

    init(to destination: Destination, port: Int, through proxy: Proxy) throws(LoadError) {
        loginMessage = try proxy.credential?.socksMessage()
        greeting = loginMessage == nil ? [Self.version, 1, Self.noLogin] : [Self.version, 2, Self.noLogin, Self.login]
        request =
            [Self.version, 1, 0] + (try Self.bytes(of: destination)) + [
                UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port),
            ]
        self.proxy = proxy
        target =
            switch destination {
            case .name(let name): "\(QuotedText(name)) port \(port)"
            case .address(let address): "\(address) port \(port)"
            }
    }

    /// Address type and address.
    private static func bytes(of destination: Destination) throws(LoadError) -> [UInt8] {
        switch destination {
        case .address(let address): return [address.bytes.count == 4 ? 1 : 4] + address.bytes
        case .name(let name):
            let bytes = Array(name.utf8)
            guard (1...255).contains(bytes.count) else {
                throw LoadError(
                    .socksFailed,
                    message: "the host \(QuotedText(name)) has more than 255 bytes, too many for a SOCKS5 proxy; use a shorter name")
            }
            return [3, UInt8(bytes.count)] + bytes
        }
    }

    mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(LoadError) -> TunnelStep {
        while offset < input.byteCount {
            message.append(input.octet(at: offset))
            offset += 1
            if let step = try processPending() { return step }
        }
        return .needsMore
    }

    /// Processes the proxy's message if it is complete.
    ///
    /// - Returns: the next step; `nil` if the message is incomplete.
    private mutating func processPending() throws(LoadError) -> TunnelStep? {
        switch state {
        case .greeted:
            guard message[0] == Self.version else { throw malformed("the version is \(message[0]), not 5") }
            guard message.count == 2 else { return nil }
            return try didChooseMethod(message[1])
        case .loggingIn:
            guard message[0] == 1 else { throw malformed("the version of the log-in is \(message[0]), not 1") }
            guard message.count == 2 else { return nil }
            guard message[1] == 0 else {
                throw challenge("did not accept \(proxy.credential.map(\.description) ?? "the log-in")", isRefusal: true)
            }
            return sendRequest()
        case .requested:
            guard try isReplyComplete() else { return nil }
            state = .established
            return .established
        case .established: return .established
        }
    }

    private mutating func didChooseMethod(_ method: UInt8) throws(LoadError) -> TunnelStep {
        switch method {
        case Self.noLogin: return sendRequest()
        case Self.login:
            guard let loginMessage else { throw malformed("it chose a log-in by password, which was not offered") }
            message = []
            state = .loggingIn
            return .send(loginMessage)
        case Self.noneAcceptable:
            guard loginMessage == nil else {
                throw LoadError(
                    .socksFailed,
                    message: "the proxy \(proxy) wants an authentication method other than a password; use another proxy")
            }
            throw challenge("wants a user name and password")
        default: throw malformed("it chose the method \(method), which was not offered")
        }
    }

    private mutating func sendRequest() -> TunnelStep {
        message = []
        state = .requested
        return .send(request)
    }

    /// Checks the reply `VER REP RSV ATYP BND.ADDR BND.PORT`. The bound address is ignored.
    private func isReplyComplete() throws(LoadError) -> Bool {
        guard message[0] == Self.version else { throw malformed("the version is \(message[0]), not 5") }
        guard message.count >= 2 else { return false }
        guard message[1] == 0 else {
            let reply = SOCKS5Reply(code: message[1])
            throw LoadError(
                .socksFailed,
                message:
                    "the proxy \(proxy) made no connection to \(target): \(reply.phrase); check that address, or load without the proxy",
                underlyingError: reply)
        }
        guard message.count >= 5 else {
            if message.count == 4, ![1, 3, 4].contains(message[3]) { throw malformed("its address has the type \(message[3])") }
            return false
        }
        let addressLength =
            switch message[3] {
            case 1: 4
            case 4: 16
            default: 1 + Int(message[4])
            }
        return message.count == 4 + addressLength + 2
    }

    private func malformed(_ problem: String) -> LoadError {
        LoadError(
            .socksFailed,
            message: "the proxy \(proxy) does not speak SOCKS5: \(problem); check that host and port are those of a SOCKS5 proxy")
    }

    private func challenge(_ demand: String, isRefusal: Bool = false) -> LoadError {
        let (start, cause) = ("the proxy \(proxy) \(demand)", ProxyChallenge(offers: [.socks]))
        return isRefusal
            ? LoadError(.socksFailed, message: "\(start); check name and password", underlyingError: cause)
            : LoadError(.socksFailed, message: start, remedy: .giveProxyPassword, underlyingError: cause)
    }

    var errorAtEnd: LoadError {
        switch state {
        // RFC 1929 §2 requires the server to close the connection after a failed log-in. Some servers close it without
        // a reply.
        case .loggingIn: challenge("closed the connection at the log-in", isRefusal: true)
        case .greeted, .requested, .established:
            LoadError(
                .socksFailed,
                message: "the proxy \(proxy) closed the connection when asked for one to \(target); check that it allows that")
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// For messages. IPv6 is written without the compression of zeros.
    var description: String {
        guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
        let pieces = stride(from: 0, to: 16, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
        return "[\(pieces.joined(separator: ":"))]"
    }
}

extension RawSpan {
    fileprivate func octet(at offset: Int) -> UInt8 {
        withOctets { $0[offset] }
    }
}
