// SPDX-License-Identifier: Apache-2.0

import Portolan

extension ExitStatus {
    /// The status for a load's error. A plugin's own codes all have one status; codes that are not published here are not known.
    init(_ error: LoadError) {
        guard error.domain == nil else {
            self = .pluginError
            return
        }
        // Why the target of a redirect is refused, the cause says.
        if error.code == .badRedirect, let cause = error.cause as? LoadError {
            self.init(cause)
        } else {
            self = Self.statuses[error.code] ?? .unknown
        }
    }

    /// One entry for each published code.
    static let statuses: [LoadError.Code: ExitStatus] = [
        .unknown: .unknown,
        .badURL: .badURL,
        .unsupportedScheme: .unsupportedScheme,
        .badRequest: .badRequest,
        .notFound: .unreadable,
        .accessDenied: .unreadable,
        .isDirectory: .unreadable,
        .notRegularFile: .unreadable,
        .rangeNotSatisfiable: .badRange,
        .cancelled: .pluginError,  // by the plugin: where a signal did it, the status is the signal's
        .timedOut: .timedOut,
        .tooManyRedirects: .tooManyRedirects,
        .badRedirect: .badRedirect,
        .authenticationRequired: .notAuthenticated,
        .authenticationCancelled: .authenticationCancelled,
        .bodyFailed: .uploadFailed,
        .nameNotFound: .nameNotFound,
        .cannotConnect: .cannotConnect,
        .connectionLost: .connectionLost,
        .secureConnectionFailed: .notSecure,
        .badResponse: .badResponse,
        .truncated: .truncated,
        .decodingFailed: .undecodable,
        .limitExceeded: .tooLarge,
        .nestedTooDeep: .nestedTooDeep,
        .ioFailed: .unreadable,
        .noMemory: .noMemory,
        .noResources: .noResources,
        .notOffered: .notOffered,
        .protocolViolation: .protocolViolation,
        .pluginNotLoadable: .pluginNotLoadable,
        .pluginRefused: .pluginRefused,
        .certificateNotTrusted: .notTrusted,
        .trustRootsUnusable: .badTrustRoots,
        .clientCertificateUnusable: .badIdentity,
        .emptyResponse: .emptyResponse,
        .proxyNotFound: .proxyNotFound,
        .tunnelFailed: .connectionLost,
        .socksFailed: .socksFailed,
    ]
}
