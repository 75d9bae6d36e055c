// SPDX-License-Identifier: Apache-2.0

/// Encodes any text in letters, digits and hyphens.
///
/// The ASCII characters come first. Then a number follows for each other code point, in order of their values: the
/// distance from the previous code point, in which value and position are combined. The lowest digit comes first. The
/// threshold of each digit decides whether another digit follows.
///
/// RFC 3492
enum Punycode {
    private static let base = 36
    private static let lowestThreshold = 1
    private static let highestThreshold = 26
    private static let skew = 38
    private static let damping = 700
    private static let initialBias = 72
    private static let firstCodePoint = 0x80
    private static let delimiter = UInt32(UInt8(ascii: "-"))

    /// Returns the decoded text, or nil if the input is not the encoding of any text.
    ///
    /// - Complexity: the square of the length; the caller limits it.
    ///
    /// RFC 3492 §6.2
    static func decode(_ input: ArraySlice<UInt32>) -> [UInt32]? {
        guard input.allSatisfy({ $0 < 0x80 }) else { return nil }
        var output: [UInt32] = []
        var position = input.startIndex
        // A delimiter at the start is neither a delimiter nor a digit.
        if let last = input.lastIndex(of: delimiter), last > input.startIndex {
            output = Array(input[..<last])
            position = last + 1
        }
        var codePoint = firstCodePoint
        var bias = initialBias
        var index = 0
        while position < input.endIndex {
            guard let delta = number(in: input, at: &position, bias: bias) else { return nil }
            let count = output.count + 1
            let (sum, overflows) = index.addingReportingOverflow(delta)
            if overflows { return nil }
            bias = adaptedBias(delta, count: count, isFirst: index == 0 && codePoint == firstCodePoint)
            codePoint += sum / count
            guard let scalar = UInt32(exactly: codePoint).flatMap(Unicode.Scalar.init) else { return nil }
            index = sum % count
            output.insert(scalar.value, at: index)
            index += 1
        }
        return output
    }

    /// Returns the encoding of a text of code points, without the `xn--` prefix.
    ///
    /// - Complexity: the length times the number of different code points beyond ASCII; the caller limits it.
    ///
    /// RFC 3492 §6.3
    static func encode(_ input: [UInt32]) -> [UInt32] {
        var output = input.filter { $0 < 0x80 }
        let basicCount = output.count
        var encodedCount = basicCount
        if basicCount > 0 { output.append(delimiter) }
        var codePoint = UInt32(firstCodePoint)
        var delta = 0
        var bias = initialBias
        while let next = input.lazy.filter({ $0 >= codePoint }).min() {
            delta += Int(next - codePoint) * (encodedCount + 1)
            for other in input {
                if other < next { delta += 1 }
                if other != next { continue }
                append(delta, to: &output, bias: bias)
                bias = adaptedBias(delta, count: encodedCount + 1, isFirst: encodedCount == basicCount)
                delta = 0
                encodedCount += 1
            }
            delta += 1
            codePoint = next + 1
        }
        return output
    }

    /// Reads a number, up to the first digit that is below its threshold; nil if there is no such digit, or if the
    /// number is too large.
    private static func number(in input: ArraySlice<UInt32>, at position: inout Int, bias: Int) -> Int? {
        var result = 0
        var weight = 1
        var place = base
        while position < input.endIndex {
            guard let digit = digitValue(input[position]) else { return nil }
            position += 1
            let (product, overflows) = digit.multipliedReportingOverflow(by: weight)
            let (sum, overflowsToo) = result.addingReportingOverflow(product)
            if overflows || overflowsToo { return nil }
            result = sum
            let threshold = threshold(at: place, bias: bias)
            if digit < threshold { return result }
            let (nextWeight, isTooLarge) = weight.multipliedReportingOverflow(by: base - threshold)
            if isTooLarge { return nil }
            weight = nextWeight
            place += base
        }
        return nil
    }

    private static func append(_ number: Int, to output: inout [UInt32], bias: Int) {
        var rest = number
        var place = base
        while true {
            let threshold = threshold(at: place, bias: bias)
            if rest < threshold { break }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            place += base
        }
        output.append(digit(rest))
    }

    private static func threshold(at place: Int, bias: Int) -> Int { min(max(place - bias, lowestThreshold), highestThreshold) }

    /// RFC 3492 §6.1
    private static func adaptedBias(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var rest = isFirst ? delta / damping : delta / 2
        rest += rest / count
        var bias = 0
        while rest > (base - lowestThreshold) * highestThreshold / 2 {
            rest /= base - lowestThreshold
            bias += base
        }
        return bias + (base - lowestThreshold + 1) * rest / (rest + skew)
    }

    private static func digitValue(_ character: UInt32) -> Int? {
        switch character {
        case 0x30...0x39: Int(character) - 0x30 + 26
        case 0x41...0x5A: Int(character) - 0x41
        case 0x61...0x7A: Int(character) - 0x61
        default: nil
        }
    }

    private static func digit(_ value: Int) -> UInt32 { UInt32(value < 26 ? 0x61 + value : 0x30 + value - 26) }
}
