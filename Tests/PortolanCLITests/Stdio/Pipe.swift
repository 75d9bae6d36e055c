// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import PortolanCLI
import PortolanFileSystem

enum Pipe {
    /// Opens a pipe, and returns its reading end (`source`) and its writing end (`sink`). See pipe(2).
    static func open() throws(SystemError) -> (source: Descriptor, sink: Descriptor) {
        var descriptors: [Int32] = [0, 0]
        guard unsafe pipe(&descriptors) == 0 else { throw .last }
        return (Descriptor(number: descriptors[0]), Descriptor(number: descriptors[1]))
    }
}
