// SPDX-License-Identifier: Apache-2.0

import Portolan

extension ExitStatus {
    /// The status for the error of a load. All codes that a plugin defines itself have one status. Codes that are not
    /// published have the status `unknown`.
    init(_ error: LoadError) {
        guard error.domain == nil else {
            self = .pluginError
            return
        }
        // The cause says why the target of a redirect is rejected.
        if error.code == .badRedirect, let cause = error.underlyingError as? LoadError {
            self.init(cause)
        } else {
            self = Self.statuses[error.code] ?? .unknown
        }
    }

    /// Contains one entry for each published code.
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
        .cancelled: .pluginError,  // by the plugin. If a signal cancels the load, the signal decides the status.
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
