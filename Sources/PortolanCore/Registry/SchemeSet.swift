// SPDX-License-Identifier: Apache-2.0

/// The URL schemes that a handler serves.
public enum SchemeSet: Hashable, Sendable {
    /// Every request, of any scheme.
    case any
    /// Requests of these schemes, in any letter case.
    case only([String])

    /// - Parameter scheme: in lower case, as in a parsed URL.
    public func contains(_ scheme: some StringProtocol) -> Bool {
        switch self {
        case .any: true
        case .only(let schemes): schemes.contains { $0.lowercased() == scheme }
        }
    }
}
