// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

extension PluginError.Code {
    /// In the order of their numbers: the first is -1, the next -2.
    static let names = [
        "unknown", "badURL", "unsupportedScheme", "badRequest", "notFound", "accessDenied", "isDirectory", "notRegularFile",
        "rangeNotSatisfiable", "cancelled", "timedOut", "tooManyRedirects", "badRedirect", "authenticationRequired",
        "authenticationCancelled", "bodyFailed", "nameNotFound", "cannotConnect", "connectionLost", "secureConnectionFailed",
        "badResponse", "truncated", "decodingFailed", "limitExceeded", "nestedTooDeep", "ioFailed", "noMemory", "noResources", "notOffered",
    ]

    /// The code of that name, as in `notFound`.
    init?(named name: String) {
        guard let index = Self.names.firstIndex(of: name) else { return nil }
        self.init(rawValue: -1 - Int32(index))
    }
}
