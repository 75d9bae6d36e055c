// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import PortolanCLI

enum Pipe {
    /// Opens a pipe, and returns its reading end and its writing end: pipe(2).
    static func open() throws(SystemError) -> (source: Descriptor, sink: Descriptor) {
        var numbers: [Int32] = [0, 0]
        guard unsafe pipe(&numbers) == 0 else { throw .last }
        return (Descriptor(number: numbers[0]), Descriptor(number: numbers[1]))
    }
}
