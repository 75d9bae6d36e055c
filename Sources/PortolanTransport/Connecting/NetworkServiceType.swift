// SPDX-License-Identifier: Apache-2.0

/// The kind of traffic on connections, which the system's packet scheduler and routers can prefer or delay.
///
///     var configuration = HTTPConfiguration()
///     configuration.networkServiceType = .background     // updates that may wait
///
/// The value is the DS field of each IP packet (RFC 2474 §3): `IP_TOS` in ip(7), and `IPV6_TCLASS` in ipv6(7). Many
/// networks ignore or reset it. The names are those of URLSession.
public struct NetworkServiceType: RawRepresentable, Hashable, Sendable {
    /// The whole octet: the code point (DSCP) in the upper six bits. The system sets the lower two bits (ECN).
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    private init(codePoint: UInt8) { rawValue = codePoint << 2 }

    /// Standard traffic.
    public static let `default` = Self(codePoint: 0)
    /// Transfers for which nobody waits. They yield to all other traffic (LE, RFC 8622).
    public static let background = Self(codePoint: 1)
    /// Data for which a person waits (AF21, RFC 4594 §4.7).
    public static let responsiveData = Self(codePoint: 18)
    /// Audio and video that is played from a buffer (AF31, RFC 4594 §4.5).
    public static let avStreaming = Self(codePoint: 26)
    /// Audio and video that reacts to a person, such as a game (CS4, RFC 4594 §4.4).
    public static let responsiveAV = Self(codePoint: 32)
    /// Video of a conversation (AF41, RFC 4594 §4.3).
    public static let video = Self(codePoint: 34)
    /// The signals of a call (CS5, RFC 4594 §4.2).
    public static let callSignaling = Self(codePoint: 40)
    /// The voice of a conversation (EF, RFC 4594 §4.1).
    public static let voice = Self(codePoint: 46)
}
