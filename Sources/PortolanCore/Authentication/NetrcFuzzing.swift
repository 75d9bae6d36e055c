// SPDX-License-Identifier: Apache-2.0

/// The netrc parser, for the fuzzer. Not a part of the API.
@_spi(Fuzzing) public enum NetrcFuzzing {
    public struct Entry: Equatable, Sendable {
        public let machine, user, password: String?
    }

    public enum ParsedFile: Equatable, Sendable {
        case entries([Entry])
        /// The file is malformed in this line.
        case malformed(line: Int)
    }

    public static func parse(_ bytes: [UInt8]) -> ParsedFile {
        do throws(NetrcSyntaxError) {
            return .entries(
                try NetrcParser.parse(bytes).map { Entry(machine: $0.machine, user: $0.user, password: $0.password?.reveal()) })
        } catch {
            return .malformed(line: error.line)
        }
    }
}
