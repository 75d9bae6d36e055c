// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

extension LocalPath {
    /// The file that a `file:` URL names on this machine.
    ///
    /// The host is empty or `localhost`, which the URL parser has made empty already, or `localhost.`, which it has not; user information and a port are refused by the
    /// parser. A query is left out, since RFC 8089 knows none and browsers ignore it too; so is the fragment. Percent-encoding is read
    /// strictly: an octet that is written wrongly, one that ends the path for the kernel (`%00`), and one that would make two path segments
    /// of one (`%2F`) are refused.
    ///
    /// - Throws: ``LoadError/Code/badURL``.
    ///
    /// RFC 8089 §2; RFC 3986 §2.1
    package init(fileURL url: URLRecord) throws(LoadError) {
        if let host = url.host, !host.isEmpty, host != "localhost", host != "localhost." {
            throw LoadError(
                .badURL,
                message: "'\(url)' names a file of host '\(host)', and only files of this machine are loaded; write file:///… for those")
        }
        guard url.path.first == "/" else { throw LoadError(.badURL, message: "'\(url)' has no absolute path; write file:///…") }
        guard let path = LocalPath(try Self.decode(url)) else {
            throw LoadError(.badURL, message: "'\(url)' has a NUL (%00) in its path, which no file name holds; take it out")
        }
        self = path
    }

    private static func decode(_ url: URLRecord) throws(LoadError) -> [UInt8] {
        let path = Array(url.path.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            guard path[index] == UInt8(ascii: "%") else {
                bytes.append(path[index])
                index += 1
                continue
            }
            guard index + 2 < path.count, let high = PercentEncoding.hexValue(path[index + 1]),
                let low = PercentEncoding.hexValue(path[index + 2])
            else {
                throw LoadError(
                    .badURL,
                    message:
                        "'\(url)' has a '%' without two hex digits after it, at byte \(index) of its path; write %25 for a percent sign")
            }
            let byte = high << 4 | low
            guard byte != UInt8(ascii: "/") else {
                throw LoadError(.badURL, message: "'\(url)' has an encoded slash (%2F), which no file name holds; write / between folders")
            }
            bytes.append(byte)
            index += 3
        }
        return bytes
    }
}
