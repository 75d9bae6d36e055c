// SPDX-License-Identifier: Apache-2.0

// The types that `import Portolan` gives a program, by name. Authors of handlers also import PortolanHandlers, for the
// rest of PortolanCore. Programs that open plugins themselves import PortolanPlugins. docs/public-api.txt lists all
// public declarations. Modules are in backquotes so that a tool that searches for declarations (`struct NAME`) finds
// none here.

@_exported public import HTTPTypes
// For Loader.Configuration.logger.
@_exported public import struct `Logging`.Logger

// Loads and tasks.
@_exported public import class `PortolanCore`.Loader
@_exported public import class `PortolanCore`.LoadTask
@_exported public import protocol `PortolanCore`.LoadDelegate
@_exported public import protocol `PortolanCore`.LoaderDelegate
@_exported public import class `PortolanCore`.ClosureDelegate
@_exported public import struct `PortolanCore`.DeliveryQueue
@_exported public import struct `PortolanCore`.ByteChunks
@_exported public import struct `PortolanCore`.LoadProgress
@_exported public import struct `PortolanCore`.LoadProgressUpdates
@_exported public import enum `PortolanCore`.Flow

// Downloads.
@_exported public import struct `PortolanDownloads`.DownloadDestination
@_exported public import struct `PortolanDownloads`.DownloadedFile
@_exported public import protocol `PortolanDownloads`.DownloadDelegate
@_exported public import struct `PortolanDownloads`.ResumeData

// Requests, responses and bodies.
@_exported public import struct `PortolanCore`.Request
@_exported public import struct `PortolanCore`.Response
@_exported public import struct `PortolanCore`.Body
@_exported public import class `PortolanCore`.BodyWriter
@_exported public import struct `PortolanCore`.MIMEType
@_exported public import struct `PortolanCore`.Timeouts
@_exported public import struct `PortolanCore`.LoadPriority
@_exported public import enum `PortolanCore`.CachePolicy
@_exported public import enum `PortolanCore`.ResponseSource
@_exported public import struct `PortolanCore`.CacheableResponse
@_exported public import enum `PortolanCore`.CacheStoragePolicy
@_exported public import class `PortolanCache`.ResponseCache
@_exported public import struct `PortolanCache`.CacheStatus
@_exported public import struct `PortolanCore`.RequestProperties
@_exported public import enum `PortolanCore`.PropertyValue

// Forms, JSON and events.
@_exported public import struct `PortolanContent`.MultipartForm
@_exported public import struct `PortolanContent`.URLEncodedForm
@_exported public import struct `PortolanContent`.StatusError
@_exported public import struct `PortolanContent`.JSONLines
@_exported public import struct `PortolanContent`.ServerSentEvent
@_exported public import struct `PortolanContent`.ServerSentEvents

// URLs.
@_exported public import struct `PortolanURL`.URLRecord
@_exported public import struct `PortolanURL`.URLSyntaxError

// Errors and metrics.
@_exported public import struct `PortolanCore`.LoadError
@_exported public import struct `PortolanCore`.LoadMetrics
@_exported public import enum `PortolanCore`.LoadStep
@_exported public import struct `PortolanCore`.RequestTimings
@_exported public import struct `PortolanCore`.TransferReport

// Redirects, retries and authentication.
@_exported public import struct `PortolanCore`.RedirectPolicy
@_exported public import struct `PortolanCore`.RetryPolicy
@_exported public import enum `PortolanCore`.RedirectDecision
@_exported public import class `PortolanCore`.AuthenticationChallenge
@_exported public import enum `PortolanCore`.ChallengeAnswer
@_exported public import enum `PortolanCore`.Credential
@_exported public import struct `PortolanCore`.ProtectionSpace
@_exported public import class `PortolanCore`.CredentialStorage
@_exported public import struct `PortolanCore`.NetrcFile
@_exported public import class `PortolanCore`.StorageObservation

// Cookies and HSTS.
@_exported public import class `PortolanCookies`.CookieStorage
@_exported public import struct `PortolanCookies`.Cookie
@_exported public import struct `PortolanCookies`.CookieError
@_exported public import class `PortolanHSTS`.HSTSStorage

// Handlers: their registry, a handler in one async function, and one that changes the loads of other handlers.
@_exported public import class `PortolanCore`.ProtocolRegistry
@_exported public import struct `PortolanCore`.Registration
@_exported public import struct `PortolanCore`.HandlerDrain
@_exported public import struct `PortolanCore`.AsyncHandler
@_exported public import struct `PortolanCore`.AsyncClient
@_exported public import struct `PortolanCore`.Interceptor
@_exported public import let `PortolanCore`.portolanVersion

// `http:` and `https:`.
@_exported public import class `PortolanHTTP`.HTTPHandler
@_exported public import struct `PortolanHTTP`.HTTPConfiguration
@_exported public import struct `PortolanHTTP`.ConnectionLimits
@_exported public import struct `PortolanHTTP`.ExpectContinuePolicy
@_exported public import struct `PortolanHTTP`.MultipartLimits
@_exported public import struct `PortolanHTTPSyntax`.HTTPLimits
@_exported public import struct `PortolanCoding`.ContentDecodingLimits

// TLS and proxies.
@_exported public import struct `PortolanTransport`.TLSSettings
@_exported public import struct `PortolanTransport`.TrustRoots
@_exported public import enum `PortolanTransport`.CertificateSource
@_exported public import struct `PortolanTransport`.TLSIdentity
@_exported public import struct `PortolanTransport`.ServerCertificate
@_exported public import struct `PortolanTransport`.ConnectionOverrides
@_exported public import struct `PortolanTransport`.NetworkServiceType
@_exported public import struct `PortolanTransport`.ProxyPolicy
