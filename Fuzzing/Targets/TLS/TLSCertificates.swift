// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The certificates of the cases. They are constants, so that an input has the same result in each process.
///
/// They were made with `openssl genpkey -algorithm ed25519` and `openssl ca`, and are valid from 2020 to 2049, except
/// ``expired``, which is valid until 2021. The root issued the intermediate certificate and the leaves, except
/// ``withIntermediate`` and ``untrusted``. All leaves have the same key.
enum TLSCertificates {
    /// The certificate that a server presents.
    enum Kind: Int, CaseIterable {
        case good, withIntermediate, untrusted, expired, misnamed

        /// Whether the client trusts the certificate.
        var isTrusted: Bool { self == .good || self == .withIntermediate }

        /// The chain in DER, leaf first.
        var chain: [[UInt8]] {
            switch self {
            case .good: [TLSCertificates.good]
            case .withIntermediate: [TLSCertificates.withIntermediate, TLSCertificates.intermediate]
            case .untrusted: [TLSCertificates.untrusted, TLSCertificates.untrustedRoot]
            case .expired: [TLSCertificates.expired]
            case .misnamed: [TLSCertificates.misnamed]
            }
        }
    }

    /// The host of all leaves except ``misnamed``. They are also valid for `*.wild.example`, 192.0.2.1 and 2001:db8::1.
    static let host = "fuzz.example"

    private static func bytes(_ base64: String) -> [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }

    /// The client trusts this root.
    static let root = bytes(
        """
        MIIBFTCByKADAgECAgEBMAUGAytlcDAUMRIwEAYDVQQDDAlGdXp6IFJvb3QwHhcNMjAwMTAxMDAwMDAwWhcNNDkxMjMxMDAwMDAwWjAUMRIwEAYDVQQD\
        DAlGdXp6IFJvb3QwKjAFBgMrZXADIQBQKa4R1WV2aHUD/Q2g1fQdJpZvN6y8reY626CKnAWaeqM/MD0wDwYDVR0TAQH/BAUwAwEB/zALBgNVHQ8EBAMC\
        AgQwHQYDVR0OBBYEFASm5LwHLjigNcy1r2fxVU/RugWXMAUGAytlcANBAIa7vrC0CezQe7/wCk/T6eEvmq86CdgIXWp/AZHVpe4XbA+tX9U7ilX973WC\
        EcGGPsQD4phvDQDE0bJC7pdzVw0=
        """)
    static let intermediate = bytes(
        """
        MIIBPjCB8aADAgECAgEBMAUGAytlcDAUMRIwEAYDVQQDDAlGdXp6IFJvb3QwHhcNMjAwMTAxMDAwMDAwWhcNNDkxMjMxMDAwMDAwWjAcMRowGAYDVQQD\
        DBFGdXp6IEludGVybWVkaWF0ZTAqMAUGAytlcAMhAJoAad3zKQ9skGBnIJvrTc8EgmOqxEzwJ7JstOJ7LgfWo2AwXjAPBgNVHRMBAf8EBTADAQH/MAsG\
        A1UdDwQEAwICBDAdBgNVHQ4EFgQUdxvjWIJ1Q048N9dsmO+13lr6SXMwHwYDVR0jBBgwFoAUBKbkvAcuOKA1zLWvZ/FVT9G6BZcwBQYDK2VwA0EAFkPL\
        XGTrvh2YI5yINV5MEYaWvMWF57KRBxVXkIM0F9GoBev8k6S7sUEx+zzOoFihaoKrnqz/gRQCpaHbEvJ9DA==
        """)
    static let good = bytes(
        """
        MIIBWzCCAQ2gAwIBAgIBAjAFBgMrZXAwFDESMBAGA1UEAwwJRnV6eiBSb290MB4XDTIwMDEwMTAwMDAwMFoXDTQ5MTIzMTAwMDAwMFowEzERMA8GA1UE\
        AwwIQSBTZXJ2ZXIwKjAFBgMrZXADIQDzb0KhE0ui8x+5unMZ2VZn3PNxMKTqG/2jJL1Hny4qCqOBhDCBgTA/BgNVHREEODA2ggxmdXp6LmV4YW1wbGWC\
        Dioud2lsZC5leGFtcGxlhwTAAAIBhxAgAQ24AAAAAAAAAAAAAAABMB0GA1UdDgQWBBS55TWCUyZ8Qr/DmyECEM3nmbbm0DAfBgNVHSMEGDAWgBQEpuS8\
        By44oDXMta9n8VVP0boFlzAFBgMrZXADQQBeTyiMtnEt3KQf/oAioCHgH8yQ3n3uuqDhg5OCJUuvSDpQYnX1zG8nlJ8KR8aEck14PL4CuCS6VPW0X6Jd\
        CBkI
        """)
    /// Issued by the intermediate certificate.
    static let withIntermediate = bytes(
        """
        MIIBYDCCARKgAwIBAgIBATAFBgMrZXAwHDEaMBgGA1UEAwwRRnV6eiBJbnRlcm1lZGlhdGUwHhcNMjAwMTAxMDAwMDAwWhcNNDkxMjMxMDAwMDAwWjAQ\
        MQ4wDAYDVQQDDAVCZWxvdzAqMAUGAytlcAMhAPNvQqETS6LzH7m6cxnZVmfc83EwpOob/aMkvUefLioKo4GEMIGBMD8GA1UdEQQ4MDaCDGZ1enouZXhh\
        bXBsZYIOKi53aWxkLmV4YW1wbGWHBMAAAgGHECABDbgAAAAAAAAAAAAAAAEwHQYDVR0OBBYEFLnlNYJTJnxCv8ObIQIQzeeZtubQMB8GA1UdIwQYMBaA\
        FHcb41iCdUNOPDfXbJjvtd5a+klzMAUGAytlcANBAOd0p75vymfTMYcBLMTQzjF42jRuVovhiIROsvnIlKiGoLi+ue6i2X2RchoAwXVQh5cJFgEa4Tft\
        nMY553OE7g4=
        """)
    /// Issued by a root that the client does not trust.
    static let untrusted = bytes(
        """
        MIIBWTCCAQugAwIBAgIBATAFBgMrZXAwEzERMA8GA1UEAwwIU3RyYW5nZXIwHhcNMjAwMTAxMDAwMDAwWhcNNDkxMjMxMDAwMDAwWjASMRAwDgYDVQQD\
        DAdVbmtub3duMCowBQYDK2VwAyEA829CoRNLovMfubpzGdlWZ9zzcTCk6hv9oyS9R58uKgqjgYQwgYEwPwYDVR0RBDgwNoIMZnV6ei5leGFtcGxlgg4q\
        LndpbGQuZXhhbXBsZYcEwAACAYcQIAENuAAAAAAAAAAAAAAAATAdBgNVHQ4EFgQUueU1glMmfEK/w5shAhDN55m25tAwHwYDVR0jBBgwFoAUd3U8HPAa\
        5Rc7oUCj6Jp+w10GCJIwBQYDK2VwA0EAI5VyR6OI66mvQFI9HH1N97jdq0zGzmJvDE5egv05BiisBtFBImUQftZepYPp31Xokl41WbaYN07RFchBtigZ\
        CQ==
        """)
    static let untrustedRoot = bytes(
        """
        MIIBEzCBxqADAgECAgEBMAUGAytlcDATMREwDwYDVQQDDAhTdHJhbmdlcjAeFw0yMDAxMDEwMDAwMDBaFw00OTEyMzEwMDAwMDBaMBMxETAPBgNVBAMM\
        CFN0cmFuZ2VyMCowBQYDK2VwAyEAcD9vTkxaQ5vbobvNKCMo37VH7h1GBT5lvsjENKSY/mSjPzA9MA8GA1UdEwEB/wQFMAMBAf8wCwYDVR0PBAQDAgIE\
        MB0GA1UdDgQWBBR3dTwc8BrlFzuhQKPomn7DXQYIkjAFBgMrZXADQQC0BgDUBorhWsgJrNa9AetMQXHIyz+IAlwsrKL4XfI25hojwwRq/AlzneGUeihL\
        gQTuFpjTC91EckKUSOm/r2kP
        """)
    static let expired = bytes(
        """
        MIIBWjCCAQygAwIBAgIBAzAFBgMrZXAwFDESMBAGA1UEAwwJRnV6eiBSb290MB4XDTIwMDEwMTAwMDAwMFoXDTIxMDIwMjAwMDAwMFowEjEQMA4GA1UE\
        AwwHRXhwaXJlZDAqMAUGAytlcAMhAPNvQqETS6LzH7m6cxnZVmfc83EwpOob/aMkvUefLioKo4GEMIGBMD8GA1UdEQQ4MDaCDGZ1enouZXhhbXBsZYIO\
        Ki53aWxkLmV4YW1wbGWHBMAAAgGHECABDbgAAAAAAAAAAAAAAAEwHQYDVR0OBBYEFLnlNYJTJnxCv8ObIQIQzeeZtubQMB8GA1UdIwQYMBaAFASm5LwH\
        LjigNcy1r2fxVU/RugWXMAUGAytlcANBALDwoquWy6F0raJDw1BXfUyebQaws6UYKmqysGnZZrMWsgFSJHCfv4X2WBf1JP4xx7q4lALEBdLN1JMiij6R\
        5wg=
        """)
    /// Valid for other.example.
    static let misnamed = bytes(
        """
        MIIBMTCB5KADAgECAgEEMAUGAytlcDAUMRIwEAYDVQQDDAlGdXp6IFJvb3QwHhcNMjAwMTAxMDAwMDAwWhcNNDkxMjMxMDAwMDAwWjATMREwDwYDVQQD\
        DAhNaXNuYW1lZDAqMAUGAytlcAMhAPNvQqETS6LzH7m6cxnZVmfc83EwpOob/aMkvUefLioKo1wwWjAYBgNVHREEETAPgg1vdGhlci5leGFtcGxlMB0G\
        A1UdDgQWBBS55TWCUyZ8Qr/DmyECEM3nmbbm0DAfBgNVHSMEGDAWgBQEpuS8By44oDXMta9n8VVP0boFlzAFBgMrZXADQQBkt4qvy6/Ya4q23LwjQdOo\
        J5sc7uk3rDnwXuDjBB0x1BGEBtzWvPy9bsKnI4SsdQFQRuTaiNe5kDSQWYlqQ/AB
        """)
    /// The key of all leaves, in PKCS #8.
    static let leafKey = bytes(
        """
        MC4CAQAwBQYDK2VwBCIEIBk1R2kZl5q7KcComyLxaheIAvdr3ERDAu/9QNbhhncS
        """)
}
