// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

extension LocalPath {
    /// The path of the file that a `file:` URL names on this machine.
    ///
    /// The host must be empty, `localhost` or `localhost.`. The URL parser makes `localhost` empty, but not
    /// `localhost.`. The parser refuses user information and a port. The query is ignored, because RFC 8089 has none
    /// and browsers ignore it too. The fragment is also ignored. Percent-encoding is decoded strictly. Three kinds of
    /// octets are refused: a malformed one, one that ends the path for the kernel (`%00`), and one that would split a
    /// path segment in two (`%2F`).
    ///
    /// - Throws: ``LoadError/Code/badURL``.
    ///
    /// RFC 8089 §2; RFC 3986 §2.1
    package init(fileURL url: URLRecord) throws(LoadError) {
        if let host = url.host, !host.isEmpty, host != "localhost", host != "localhost." {
            throw LoadError(
                .badURL,
                message: "'\(url)' names a file of host '\(host)', and only files of this machine can be loaded; write file:///… for those")
        }
        guard url.path.first == "/" else { throw LoadError(.badURL, message: "'\(url)' has no absolute path; write file:///…") }
        guard let path = LocalPath(try Self.decode(url)) else {
            throw LoadError(.badURL, message: "'\(url)' has a NUL (%00) in its path, which no file name can contain; remove it")
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
                throw LoadError(
                    .badURL, message: "'\(url)' has an encoded slash (%2F), which no file name can contain; write / between folders")
            }
            bytes.append(byte)
            index += 3
        }
        return bytes
    }
}
