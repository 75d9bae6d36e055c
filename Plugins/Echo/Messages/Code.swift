// SPDX-License-Identifier: Apache-2.0

/// What went wrong, as callers branch on it: the published codes of `portolan/error.h` that a plugin may give, by their names.
struct Code: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    static let badURL = Self(rawValue: -2)
    static let badRequest = Self(rawValue: -4)
    static let authenticationRequired = Self(rawValue: -14)
    static let authenticationCancelled = Self(rawValue: -15)
    static let badRedirect = Self(rawValue: -13)
    static let badResponse = Self(rawValue: -21)
    static let truncated = Self(rawValue: -22)
    static let limitExceeded = Self(rawValue: -24)

    /// In the order of their numbers: the first is -1, the next -2.
    static let names = [
        "unknown", "badURL", "unsupportedScheme", "badRequest", "notFound", "accessDenied", "isDirectory", "notRegularFile",
        "rangeNotSatisfiable", "cancelled", "timedOut", "tooManyRedirects", "badRedirect", "authenticationRequired",
        "authenticationCancelled", "bodyFailed", "nameNotFound", "cannotConnect", "connectionLost", "secureConnectionFailed",
        "badResponse", "truncated", "decodingFailed", "limitExceeded", "nestedTooDeep", "ioFailed", "noMemory", "noResources", "notOffered",
    ]

    init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The code of that name, as in `notFound`.
    init?(named name: String) {
        guard let index = Self.names.firstIndex(of: name) else { return nil }
        self.init(rawValue: -1 - Int32(index))
    }
}
