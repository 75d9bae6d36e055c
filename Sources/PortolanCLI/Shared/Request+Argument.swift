// SPDX-License-Identifier: Apache-2.0

import Portolan

extension Request {
    /// A request for the URL that stands on the command line. Where that is a path, the failure says how to write it as a URL.
    init(argument: String) throws(Failure) {
        do throws(LoadError) {
            try self.init(argument)
        } catch {
            guard ["/", "./", "../"].contains(where: argument.hasPrefix) else { throw Failure(error) }
            let path = FileSystem.resolved(argument) ?? argument
            let proposal = path.hasPrefix("/") ? "'file://\(Self.percentEncoded(path))'" : "'file:///' and its path from the root"
            throw Failure(error, message: "'\(argument)' is no URL; for a file, write \(proposal)")
        }
    }

    /// RFC 3986 §3.3, of which this leaves only what means nothing to a shell either.
    private static func percentEncoded(_ path: String) -> String {
        var text = ""
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }
}
