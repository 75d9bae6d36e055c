// SPDX-License-Identifier: Apache-2.0

/// A question of the peer's, with the protection space in which one answer holds.
public struct PluginChallenge: Sendable {
    public enum ChallengeMethod: Sendable {
        /// A user and a password; `scheme` as in `basic`, where the protocol has several.
        case password(scheme: String?)
        /// A certificate and its key; with the names of the accepted issuers, DER.
        case clientCertificate(issuers: [[UInt8]])
        /// Whether the peer's chain is to be trusted: DER, leaf first.
        case serverTrust(chain: [[UInt8]])
    }

    public var method: ChallengeMethod
    /// The URL's scheme, or that of the proxy.
    public var protocolName: String
    /// Empty, where the URL has none.
    public var host: String
    public var port: Int?
    public var realm: String?
    public var isProxy: Bool
    /// How many answers of this load in this space have failed (CHAL-04).
    public var failureCount: Int
    /// Why the last one did.
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
    /// - Throws: ``PluginError/Code/badResponse`` where the host would end the load (CHAL-01): a realm comes from a peer.
    func check() throws(PluginError) {
        guard !protocolName.isEmpty,
            ![protocolName, host, realm ?? ""].contains(where: { $0.unicodeScalars.contains(where: Syntax.isBreaking) })
        else {
            throw PluginError(.badResponse, message: "the protocol of a challenge is empty, or its host or realm holds a control character")
        }
        guard port.map({ (0...65535).contains($0) }) ?? true, (0...Int(Int32.max)).contains(failureCount) else {
            throw PluginError(.badResponse, message: "the port of a challenge is not 0 to 65535, or its count of failures is none")
        }
    }
}

/// What became of a question.
public enum PluginAnswer: Sendable {
    /// Use this. For server trust: trust the chain.
    case use(PluginCredential)
    /// Go on without one; deliver what the peer gives then, or fail with ``PluginError/Code/authenticationRequired``.
    case without
    /// As if nobody had been asked. For server trust: judge the chain by the system's roots; otherwise as ``without``.
    case performDefault
    /// Not this space: ask for the next one that the peer offers, or fail as above.
    case rejectSpace
    /// End with ``PluginError/Code/authenticationCancelled``.
    case cancel
}

/// A credential. Its bytes are wiped when it goes; they belong in no message, log line, URL or field (CHAL-09).
public final class PluginCredential: Sendable {
    /// In UTF-8; empty where they were not asked for.
    public let user, password: PluginSecret
    /// Of a client certificate: the chain, DER, leaf first.
    public let certificates: [[UInt8]]
    /// PKCS #8, DER.
    public let privateKey: PluginSecret

    init(user: PluginSecret, password: PluginSecret, certificates: [[UInt8]], privateKey: PluginSecret) {
        self.user = user
        self.password = password
        self.certificates = certificates
        self.privateKey = privateKey
    }
}

/// Bytes that are wiped when nobody holds them any more.
@safe
public final class PluginSecret: @unchecked Sendable {  // … because nothing of it changes once it is made
    private let memory: UnsafeMutableRawBufferPointer

    init(copying bytes: UnsafeRawBufferPointer) {
        unsafe memory = .allocate(byteCount: max(bytes.count, 1), alignment: 1)
        count = bytes.count
        unsafe memory.copyMemory(from: bytes)
    }

    deinit {
        // The optimiser leaves out stores to memory that is freed next, but does not look into this function.
        unsafe Self.wipe(memory)
        unsafe memory.deallocate()
    }

    public let count: Int

    /// Calls `body` with the bytes, where they lie.
    public func withBytes<Result, Failure>(_ body: (borrowing RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[..<count])
        return try unsafe body(bytes.bytes)
    }

    /// A copy as text, which nobody wipes: for protocols that have it no other way.
    public var text: String { unsafe String(decoding: memory[..<count], as: UTF8.self) }

    /// Takes as long for one difference as for many: the time depends on the lengths alone.
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
