// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

extension PluginError.Code {
    /// In numeric order: the first is -1, the next -2. The codes between the two lists are reserved for the host.
    private static let firstNames = [
        "unknown", "badURL", "unsupportedScheme", "badRequest", "notFound", "accessDenied", "isDirectory", "notRegularFile",
        "rangeNotSatisfiable", "cancelled", "timedOut", "tooManyRedirects", "badRedirect", "authenticationRequired",
        "authenticationCancelled", "bodyFailed", "nameNotFound", "cannotConnect", "connectionLost", "secureConnectionFailed",
        "badResponse", "truncated", "decodingFailed", "limitExceeded", "nestedTooDeep", "ioFailed", "noMemory", "noResources", "notOffered",
    ]
    private static let laterNames = [
        "certificateNotTrusted", "trustRootsUnusable", "clientCertificateUnusable", "emptyResponse", "proxyNotFound", "tunnelFailed",
        "socksFailed",
    ]
    static let names = firstNames + laterNames

    /// The code with this name, such as `notFound`.
    init?(named name: String) {
        if let index = Self.firstNames.firstIndex(of: name) {
            self.init(rawValue: Self.unknown.rawValue - Int32(index))
        } else if let index = Self.laterNames.firstIndex(of: name) {
            self.init(rawValue: Self.certificateNotTrusted.rawValue - Int32(index))
        } else {
            return nil
        }
    }
}
