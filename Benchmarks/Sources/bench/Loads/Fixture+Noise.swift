// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Fixture {
    /// Makes a file of `size` pseudorandom bytes. All files start with the same bytes and repeat after 16 MiB, so that
    /// slow peers can read a shorter file.
    ///
    /// - Returns: the file's name in ``scratch``, such as `1GiB.bin`.
    func noiseFile(_ size: Int) throws -> String {
        let name = Self.name(size) + ".bin"
        _ = try file(name) { path in try Self.writeNoise(size, to: path) }
        return name
    }

    /// Returns the shortest form of a size in binary units.
    static func name(_ size: Int) -> String {
        let units = ["B", "KiB", "MiB", "GiB"]
        var (number, unit) = (size, 0)
        while number >= 1024, number.isMultiple(of: 1024), unit < units.count - 1 { (number, unit) = (number / 1024, unit + 1) }
        return "\(number)\(units[unit])"
    }

    private static func writeNoise(_ size: Int, to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path) else {
            throw MeasurementError("\(path) can't be written; name another folder with --scratch")
        }
        defer { try? file.close() }
        var source = TestBytes(seed: 1)
        let block = source.noise(min(size, 16 << 20))
        var remainingSize = size
        while remainingSize > 0 {
            try file.write(contentsOf: block.prefix(remainingSize))
            remainingSize -= min(remainingSize, block.count)
        }
    }
}
