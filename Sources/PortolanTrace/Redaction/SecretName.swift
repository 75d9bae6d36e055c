// SPDX-License-Identifier: Apache-2.0

/// Which names of fields, query parameters, form members and JSON members are those of secrets.
enum SecretName {
    /// Any name with one of these in it, without regard to case, and to what is no letter or digit: `X-Api-Key` has `apikey`.
    private static let parts = [
        "token", "secret", "password", "passwd", "passphrase", "passcode", "apikey", "accesskey", "privatekey", "authkey", "authorization",
        "credential", "cookie", "session", "sessid", "signature", "csrf", "xsrf",
    ].map { Array($0.utf8) }
    /// Whole names.
    private static let names: Set<String> = ["auth", "bearer", "jwt", "otp", "pass", "pin", "psk", "pw", "pwd", "sid", "sig"]
    /// Whole names that have such a part and hold no secret: places in a list, counts and kinds. By them requests and answers differ.
    private static let others: Set<String> = [
        "pagetoken", "nextpagetoken", "prevpagetoken", "previouspagetoken", "nexttoken", "prevtoken", "previoustoken", "continuationtoken",
        "nextcontinuationtoken", "synctoken", "nextsynctoken", "startingtoken",
        "tokens", "maxtokens", "maxnewtokens", "maxcompletiontokens", "maxoutputtokens", "mintokens", "totaltokens", "prompttokens",
        "completiontokens", "inputtokens", "outputtokens", "cachedtokens", "reasoningtokens", "tokencount", "numtokens", "tokenlimit",
        "tokentype", "tokenizer", "sessions", "sessioncount", "signaturemethod", "signatureversion", "signaturealgorithm",
        "oauthsignaturemethod", "xamzsignatureversion",
    ]
    /// Longer names are cut.
    private static let longest = 256

    /// - Parameter name: percent-decoded.
    static func isSecret(_ name: some Sequence<UInt8>) -> Bool {
        var letters: [UInt8] = []
        for byte in name.prefix(longest) {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): letters.append(byte | 0x20)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): letters.append(byte)
            default: break
            }
        }
        let whole = String(decoding: letters, as: UTF8.self)
        if others.contains(whole) { return false }
        return names.contains(whole) || letters.starts(with: "xauth".utf8) || parts.contains { part in letters.contains(part) }
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        guard count >= part.count else { return false }
        return (0...count - part.count).contains { self[$0] == part[0] && self[$0..<$0 + part.count].elementsEqual(part) }
    }
}
