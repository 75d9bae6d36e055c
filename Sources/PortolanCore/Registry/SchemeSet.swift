// SPDX-License-Identifier: Apache-2.0

/// The URL schemes a handler is asked for.
public enum SchemeSet: Hashable, Sendable {
    /// Each request, of any scheme.
    case any
    /// Requests of these schemes, in any case; the registry finds the handler by them without asking others.
    case only([String])

    public func contains(_ scheme: some StringProtocol) -> Bool {
        switch self {
        case .any: true
        case .only(let schemes): schemes.contains { $0.lowercased() == scheme }
        }
    }
}
