// SPDX-License-Identifier: Apache-2.0

/// A challenge from the peer, with the protection space in which one answer is valid.
public struct PluginChallenge: Sendable {
    public enum ChallengeMethod: Sendable {
        /// A user name and a password. `scheme` is the authentication scheme, such as `basic`. `nil` if the protocol
        /// has only one.
        case password(scheme: String?)
        /// A client certificate and its key. `issuers` holds the DER names of the accepted issuers.
        case clientCertificate(issuers: [[UInt8]])
        /// A decision whether to trust the peer's certificate chain, which is in DER with the leaf first.
        case serverTrust(chain: [[UInt8]])
    }

    public var method: ChallengeMethod
    /// The scheme of the URL or of the proxy.
    public var protocolName: String
    /// Empty if the URL has no host.
    public var host: String
    public var port: Int?
    public var realm: String?
    public var isProxy: Bool
    /// The number of answers in this space that have failed in this load (CHAL-04).
    public var failureCount: Int
    /// The reason for the last failure.
    public var previousError: PluginError?

    public init(
        _ method: ChallengeMethod = .password(scheme: nil), protocolName: String, host: String, port: Int? = nil, realm: String? = nil,
        isProxy: Bool = false, failureCount: Int = 0, previousError: PluginError? = nil
    ) {
        self.method = method
        self.protocolName = protocolName
        self.host = host
        self.port = port
        self.realm = realm
        self.isProxy = isProxy
        self.failureCount = failureCount
        self.previousError = previousError
    }
}

extension PluginChallenge {
    /// - Throws: ``PluginError/Code/badResponse`` if the host would reject the challenge (CHAL-01). The host or the
    ///   realm can be the peer's mistake.
    func check() throws(PluginError) {
        guard !protocolName.isEmpty,
            ![protocolName, host, realm ?? ""].contains(where: { $0.unicodeScalars.contains(where: Syntax.isBreaking) })
        else {
            throw PluginError(
                .badResponse,
                message: "the protocol of a challenge is empty, or its host or realm has a control character, which breaks CHAL-01")
        }
        guard port.map({ (0...65535).contains($0) }) ?? true, (0...Int(Int32.max)).contains(failureCount) else {
            throw PluginError(
                .badResponse,
                message: "the port of a challenge is not from 0 to 65535, or its failure count is negative, which breaks CHAL-01")
        }
    }
}

/// The answer to a challenge.
public enum PluginChallengeAnswer: Sendable {
    /// Use this credential. For server trust: trust the chain.
    case use(PluginCredential)
    /// Continue without a credential. Deliver the peer's response, or fail with
    /// ``PluginError/Code/authenticationRequired``.
    case continueWithoutCredential
    /// The caller does not decide. For server trust, evaluate the chain with the system's roots. Otherwise same as
    /// ``continueWithoutCredential``.
    case performDefault
    /// Reject this protection space. Send a challenge for the next space that the peer offers, or fail as for
    /// ``continueWithoutCredential``.
    case rejectProtectionSpace
    /// Fail with ``PluginError/Code/authenticationCancelled``.
    case cancel
}

/// A credential. Its secrets are wiped when it is released. Never put them in a message, log line, URL or field
/// (CHAL-09).
public final class PluginCredential: Sendable {
    /// In UTF-8. Empty if the challenge is for a client certificate or server trust.
    public let user, password: PluginSecret
    /// The chain of a client certificate, in DER with the leaf first.
    public let certificates: [[UInt8]]
    /// The key of the client certificate (PKCS #8 in DER).
    public let privateKey: PluginSecret

    init(user: PluginSecret, password: PluginSecret, certificates: [[UInt8]], privateKey: PluginSecret) {
        self.user = user
        self.password = password
        self.certificates = certificates
        self.privateKey = privateKey
    }
}

/// Bytes that are wiped when the last reference is released.
@safe
public final class PluginSecret: @unchecked Sendable {  // … because it does not change after `init`
    private let memory: UnsafeMutableRawBufferPointer

    init(copying bytes: UnsafeRawBufferPointer) {
        unsafe memory = .allocate(byteCount: max(bytes.count, 1), alignment: 1)
        count = bytes.count
        unsafe memory.copyMemory(from: bytes)
    }

    deinit {
        // A separate function that is not optimised, because the optimiser removes stores to memory that is freed next.
        unsafe Self.wipe(memory)
        unsafe memory.deallocate()
    }

    public let count: Int

    /// Calls `body` with the bytes, without a copy.
    public func withBytes<Result, Failure>(_ body: (borrowing RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[..<count])
        return try unsafe body(bytes.bytes)
    }

    /// A copy as text that is not wiped. Use it only if the protocol requires text.
    public var text: String { unsafe String(decoding: memory[..<count], as: UTF8.self) }

    /// Compares in constant time: the time depends only on the lengths.
    public func isEqual(to other: [UInt8]) -> Bool {
        var difference: UInt8 = count == other.count ? 0 : 1
        for index in other.indices { difference |= (index < count ? unsafe memory[index] : 0) ^ other[index] }
        return difference == 0
    }

    @inline(never)
    @_optimize(none)
    private static func wipe(_ memory: UnsafeMutableRawBufferPointer) {
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
    }
}
