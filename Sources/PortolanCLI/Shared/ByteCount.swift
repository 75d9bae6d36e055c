// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A number of bytes on the command line. As with curl, it can end in `B`, or for powers of 1024 in `k`, `M`, `G`, `T`
/// or `P`, and 0 means no limit.
struct ByteCount {
    /// `nil` for 0, which has the same effect as no option.
    let count: Int64?

    /// - Throws: `ValidationError` for another text, and for a number that is too large.
    init(parsing argument: String) throws {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let exponents: [String: Int64] = ["": 0, "B": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50]
        guard let number = Int64(digits), let exponent = exponents[argument.dropFirst(digits.count).uppercased()],
            number <= Int64.max >> exponent
        else { throw ValidationError("write a number of bytes, such as 500, 10k, 4M or 1G") }
        count = number == 0 ? nil : number << exponent
    }
}
