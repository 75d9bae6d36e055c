// SPDX-License-Identifier: Apache-2.0

/// Malformed and extreme URLs that a peer can still send.
enum MalformedURLSamples {
    static func all(_ scheme: String) -> [String] {
        let long = String(repeating: "a", count: 1 << 20)
        let shorter = long.prefix(1 << 16)
        let suffixes = [
            "", "?", "#", "//", "///", "/", "//?", "//#", ".", "..", "/..", "%00", "/%00", "%ff%fe", "%", "/%", "/%z", "//h/%0d%0a",
            "//h:65535/",
            "//u:p@h/", "//@/", "//h?%00", "//h/?a=%00&=&a", "//h/?", "//h/#%00", "//[::1]/", "//h//", "//h/a%2fb", "//h/%2e%2e/", "//%41/",
            "//h/\u{1F9ED}", "//h/?\u{1F9ED}", "//h/\(long)", "\(shorter)", "//h/?\(shorter)", "//h/#\(shorter)",
            String(repeating: "/", count: 4096),
            "//h/?" + String(repeating: "a=b&", count: 16384),
        ]
        return suffixes.map { "\(scheme):\($0)" }
    }

    /// Returns the URL with a malformed percent-encoding at the end of its path, its query and its host.
    static func withBrokenEscapes(_ url: String) -> [String] {
        [appendingToPath("%zz", of: url), url + "?judge=%zz"] + inHost("%zz", of: url)
    }

    /// Returns the URL with `text` at the end of its path.
    static func appendingToPath(_ text: String, of url: String) -> String {
        let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        return url[..<end] + text + url[end...]
    }

    private static func inHost(_ text: String, of url: String) -> [String] {
        let parts = url.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return [] }
        let end = parts[1].firstIndex { "/?#:".contains($0) } ?? parts[1].endIndex
        return ["\(parts[0])://\(parts[1][..<end])\(text)\(parts[1][end...])"]
    }
}
