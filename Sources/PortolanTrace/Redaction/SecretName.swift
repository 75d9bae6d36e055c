// SPDX-License-Identifier: Apache-2.0

/// Recognises names of secrets among the names of fields, query parameters, form members and JSON members.
///
/// A name is split into words at case changes and at characters that are no letters. If one of the words is a word for
/// a secret, the name is the name of a secret. A word for a secret can also be a part of a longer word, as in
/// `csrfmiddlewaretoken`. Adjacent words can show that the value is no secret: `token_endpoint`.
enum SecretName {
    enum Kind {
        case none, secret
        /// A plural. Its value can be a switch, which is no secret: `cookies=on`.
        case plural
    }

    /// Words for secrets.
    private static let roots = [
        "token", "secret", "password", "passwd", "passphrase", "passcode", "apikey", "accesskey", "privatekey", "authkey", "authorization",
        "credential", "cookie", "session", "sessid", "signature", "csrf", "xsrf",
    ]
    /// Words for secrets that can be written as two words.
    private static let pairs = [
        ("api", "key"), ("access", "key"), ("private", "key"), ("auth", "key"), ("pass", "word"), ("pass", "wd"), ("pass", "phrase"),
        ("pass", "code"), ("sess", "id"), ("x", "auth"), ("x", "authentication"),
    ]
    /// Names that are secrets as a whole.
    private static let names: Set<String> = ["auth", "bearer", "jwt", "otp", "pass", "pin", "psk", "pw", "pwd", "sid", "sig"]
    /// Words that mark a secret also at the end of a name.
    private static let endings: Set<String> = ["jwt", "otp", "psk", "pw", "pwd", "sid"]

    // MARK: Exceptions

    /// Words after a word for a secret that show that the value is a location, a count or a kind. They can be plural.
    private static let properties: Set<String> = [
        "endpoint", "uri", "url", "iframe", "count", "limit", "remaining", "used", "total", "reset", "type", "method", "version",
        "algorithm", "alg", "supported",
    ]
    /// Words before a plural that show that the value is a number or a permission.
    private static let quantities: Set<String> = [
        "max", "maximum", "min", "minimum", "num", "number", "total", "count", "limit", "remaining", "used", "reset", "new", "input",
        "output", "prompt", "completion", "cached", "reasoning", "allow", "allowed",
    ]
    /// Words before `token` that show that the value is a position in a list.
    private static let pages: Set<String> = ["page", "next", "prev", "previous", "continuation", "sync", "starting"]
    /// Beginnings of words that are derived from a word for a secret, but have another meaning: tokenizer, secretary.
    private static let derivations = ["tokeniz", "tokenis", "secretar", "secretion", "secretive"]
    /// Words that contain a word for a secret by accident.
    private static let accidents: Set<String> = ["obsession", "obsessions", "possession", "possessions"]

    /// The maximum number of bytes of a name that are examined.
    private static let maximumLength = 256

    /// - Parameter name: the percent-decoded name.
    static func isSecret(_ name: some Sequence<UInt8>) -> Bool { kind(of: name) != .none }

    /// - Parameter name: the percent-decoded name.
    static func kind(of name: some Sequence<UInt8>) -> Kind {
        let bytes = Array(name.prefix(maximumLength))
        return mayBeSecret(bytes) ? kind(ofWhole: bytes) : .none
    }

    private static func kind(ofWhole bytes: [UInt8]) -> Kind {
        let words = words(of: bytes)
        guard let last = words.last else { return .none }
        if names.contains(words.joined()) || endings.contains(last) || words[0].isAuthorizationField { return .secret }
        let parts = joined(words.flatMap(parts(of:)))
        var kind = Kind.none
        for (index, part) in parts.enumerated() where part.isRoot {
            let (before, behind) = (index > 0 ? parts[index - 1].text : nil, parts[(index + 1)...])
            if behind.contains(where: { !$0.isRoot && isProperty($0.text) }) { continue }
            if part.text.last == "s" {
                let isCount = parts.count == 1 && ["tokens", "sessions"].contains(part.text)
                if isCount || before.map({ isComposed($0, of: quantities) }) == true { continue }
                if kind == .none, behind.isEmpty { kind = .plural } else { kind = .secret }
            } else if part.text == "token", before.map({ isComposed($0, of: pages) }) == true {
                continue
            } else {
                kind = .secret
            }
        }
        return kind
    }

    /// Whether to hide a value. For a plural, a value such as `on` or `false` is not hidden.
    static func hides(_ value: some Collection<UInt8>, ofKind kind: Kind) -> Bool {
        guard kind == .plural, value.count <= 5 else { return kind != .none }
        return !["on", "off", "true", "false", "yes", "no"].contains(String(decoding: value, as: UTF8.self).lowercased())
    }

    /// Caches the kinds of names, because names often repeat.
    struct KindCache {
        private var kinds: [[UInt8]: Kind] = [:]

        /// - Parameter decoded: returns the decoded name; `nil` if the name is not encoded.
        mutating func kind(of slice: ArraySlice<UInt8>, decoded: (ArraySlice<UInt8>) -> [UInt8]? = { _ in nil }) -> Kind {
            let decodedName = decoded(slice)
            guard decodedName.map(mayBeSecret) ?? mayBeSecret(slice) else { return .none }
            let name = decodedName ?? Array(slice)
            guard name.count <= 64 else { return SecretName.kind(of: name) }
            if let kind = kinds[name] { return kind }
            let kind = SecretName.kind(ofWhole: name)
            if kinds.count < 1000 { kinds[name] = kind }
            return kind
        }
    }

    // MARK: Words

    /// Whether a name can be the name of a secret: a quick check that excludes most other names. Every name of a secret
    /// contains `pw`, or one of the sequences below.
    static func mayBeSecret(_ name: some Collection<UInt8>) -> Bool {
        var lastThreeBytes: UInt32 = 0
        for byte in name.prefix(maximumLength) {
            lastThreeBytes = (lastThreeBytes << 8 | UInt32(byte | 0x20)) & 0xFF_FFFF
            if lastThreeBytes & 0xFFFF == 0x7077 { return true }  // pw
            switch lastThreeBytes {
            case 0x746F6B, 0x736563, 0x706173, 0x6B6579: return true  // tok, sec, pas, key
            case 0x617574, 0x637265, 0x636F6F, 0x736573: return true  // aut, cre, coo, ses
            case 0x736967, 0x737266, 0x626561, 0x6A7774: return true  // sig, srf, bea, jwt
            case 0x6F7470, 0x70696E, 0x70736B, 0x736964: return true  // otp, pin, psk, sid
            default: break
            }
        }
        return false
    }

    /// Splits a name into lower-case words. An upper-case letter after a lower-case letter starts a word.
    private static func words(of name: [UInt8]) -> [String] {
        var words: [String] = []
        var word = ""
        var isLower = false
        func end() {
            if !word.isEmpty { words.append(word) }
            word = ""
        }
        for byte in name {
            let (isUpperLetter, isLowerLetter) = (byte.isUpperLetter, byte.isLowerLetter)
            if !isUpperLetter && !isLowerLetter || (isUpperLetter && isLower) { end() }
            if isUpperLetter || isLowerLetter { word.unicodeScalars.append(Unicode.Scalar(byte | 0x20)) }
            isLower = isLowerLetter
        }
        end()
        return words
    }

    private struct Part {
        let text: String
        /// Whether the part is a word for a secret.
        let isRoot: Bool
    }

    /// Splits a word into the text before a word for a secret, that word, and the text after it.
    private static func parts(of word: String) -> [Part] {
        guard !accidents.contains(word) else { return [Part(text: word, isRoot: false)] }
        let letters = Array(word.utf8)
        for start in letters.indices {
            for root in roots where letters[start...].starts(with: root.utf8) {
                var end = start + root.utf8.count
                let rest = String(decoding: letters[end...], as: UTF8.self)
                if derivations.contains(where: { letters[start...].starts(with: $0.utf8) }) { return [Part(text: word, isRoot: false)] }
                if rest.first == "s", rest == "s" || !roots.contains(where: rest.hasPrefix) { end += 1 }
                var parts = [Part(text: String(decoding: letters[start..<end], as: UTF8.self), isRoot: true)]
                if start > 0 { parts.insert(Part(text: String(decoding: letters[..<start], as: UTF8.self), isRoot: false), at: 0) }
                return parts + (end < letters.count ? Self.parts(of: String(decoding: letters[end...], as: UTF8.self)) : [])
            }
        }
        return [Part(text: word, isRoot: false)]
    }

    /// Joins words for secrets that were written as two words.
    private static func joined(_ parts: [Part]) -> [Part] {
        var joined: [Part] = []
        for part in parts {
            guard let before = joined.last, !before.isRoot, !part.isRoot,
                pairs.contains(where: { before.text.hasSuffix($0.0) && (part.text == $0.1 || part.text == $0.1 + "s") })
            else {
                joined.append(part)
                continue
            }
            joined[joined.count - 1] = Part(text: before.text + part.text, isRoot: true)
        }
        return joined
    }

    private static func isProperty(_ text: String) -> Bool {
        isComposed(text, of: properties) || (text.last == "s" && isComposed(text.dropLast(), of: properties))
    }

    /// Whether the text is one of the words, or several in a row: `maxnew`.
    private static func isComposed(_ text: some StringProtocol, of words: Set<String>) -> Bool {
        words.contains(String(text)) || words.contains { text.hasPrefix($0) && isComposed(text.dropFirst($0.count), of: words) }
    }
}

extension String {
    /// Whether the word starts with `xauth`, which is `X-Auth` without its separator. Words such as `xauthor` do not
    /// count.
    fileprivate var isAuthorizationField: Bool { hasPrefix("xauth") && !hasPrefix("xauthor") }
}

extension UInt8 {
    fileprivate var isUpperLetter: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    fileprivate var isLowerLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}
