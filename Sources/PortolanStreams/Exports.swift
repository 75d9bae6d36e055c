// SPDX-License-Identifier: Apache-2.0

// The types of other modules that the functions of streams take and return, so that `import PortolanStreams` is enough.

@_exported public import struct `PortolanCore`.DeliveryQueue
@_exported public import struct `PortolanCore`.LoadError
@_exported public import enum `PortolanCore`.BodyRead
@_exported public import protocol `PortolanCore`.BodyReader
@_exported public import class `PortolanCore`.AuthenticationChallenge
@_exported public import struct `PortolanTransport`.TLSSettings
@_exported public import struct `PortolanTransport`.TLSServerSettings
@_exported public import struct `PortolanTransport`.TLSIdentity
@_exported public import struct `PortolanTransport`.TrustRoots
@_exported public import enum `PortolanTransport`.CertificateSource
@_exported public import struct `PortolanTransport`.ServerCertificate
@_exported public import struct `PortolanTransport`.ProxyPolicy
@_exported public import struct `PortolanTransport`.NetworkServiceType
