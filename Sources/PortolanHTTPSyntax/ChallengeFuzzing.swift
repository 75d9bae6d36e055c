// SPDX-License-Identifier: Apache-2.0

/// The entry point of the fuzzer for challenges. It is not a part of the API.
@_spi(Fuzzing) public enum ChallengeFuzzing {
    public struct Challenge: Equatable, Sendable {
        public let scheme: String
        public let token68: String?
        public let names: [String]
        public let values: [[UInt8]]
    }

    /// Parses the value of one field.
    public static func parse(_ value: [UInt8]) -> [Challenge] {
        HTTPChallenge.parse(value.span).map { challenge in
            Challenge(
                scheme: challenge.scheme, token68: challenge.token68, names: challenge.parameters.map(\.name),
                values: challenge.parameters.map(\.octets))
        }
    }
}
