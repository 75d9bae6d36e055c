// SPDX-License-Identifier: Apache-2.0

/// The schemes whose URLs always have a host, treat a backslash as a slash, and, except for `file`, have a default
/// port.
///
/// The raw value is the number that the name's ASCII bytes form, so that the parser recognises a scheme while it reads
/// it.
///
/// WHATWG URL §4.2
enum SpecialScheme: UInt64, Sendable, Hashable, CaseIterable {
    case ws = 0x77_73
    case ftp = 0x66_74_70
    case wss = 0x77_73_73
    case file = 0x66_69_6C_65
    case http = 0x68_74_74_70
    case https = 0x68_74_74_70_73

    var defaultPort: UInt16? {
        switch self {
        case .ftp: 21
        case .file: nil
        case .http, .ws: 80
        case .https, .wss: 443
        }
    }
}
