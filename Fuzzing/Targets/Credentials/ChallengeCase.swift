// SPDX-License-Identifier: Apache-2.0

@_spi(Fuzzing) import PortolanHTTPSyntax

/// Parses a `WWW-Authenticate` field. Challenges must have valid parts, and stay the same when they are written in the
/// form of RFC 9110 §11.3 and parsed again.
enum ChallengeCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let challenges = ChallengeFuzzing.parse(input)
        for challenge in challenges { try checkParts(of: challenge) }
        let text = Array(challenges.map(Self.text).joined(separator: Array(", ".utf8)))
        let reparsedChallenges = ChallengeFuzzing.parse(text)
        try require(reparsedChallenges == challenges, "\(text) was parsed as \(reparsedChallenges) instead of \(challenges)")
        // An empty list element changes nothing.
        try require(
            ChallengeFuzzing.parse(Array(",, ".utf8) + text + [UInt8(ascii: ",")]) == challenges, "empty elements change \(challenges)")
    }

    private static func checkParts(of challenge: ChallengeFuzzing.Challenge) throws(FuzzFinding) {
        for token in [challenge.scheme] + challenge.names {
            try require(
                !token.isEmpty && token.utf8.allSatisfy(isToken) && token == token.lowercased(), "\(token) is not a token in lower case")
        }
        try require(challenge.token68 == nil || challenge.names.isEmpty, "\(challenge.scheme) has a token68 and parameters")
        for value in challenge.values {
            try require(value.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }, "a value of \(challenge.scheme) has a control octet")
        }
    }

    private static func text(of challenge: ChallengeFuzzing.Challenge) -> [UInt8] {
        var text = Array(challenge.scheme.utf8)
        if let token68 = challenge.token68 { return text + Array(" \(token68)".utf8) }
        for (number, name) in challenge.names.enumerated() {
            text += Array((number == 0 ? " " : ", ").utf8) + Array("\(name)=\"".utf8)
            for octet in challenge.values[number] {
                if octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
                text.append(octet)
            }
            text.append(UInt8(ascii: "\""))
        }
        return text
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
