// SPDX-License-Identifier: Apache-2.0

extension OutputRawSpan {
    /// Appends a copy of `source`.
    ///
    /// - Precondition: `source.count <= freeCapacity`.
    package mutating func append(contentsOf source: UnsafeRawBufferPointer) {
        let count = source.count
        precondition(count <= freeCapacity)
        unsafe withUnsafeMutableBytes { target, initialized in
            unsafe UnsafeMutableRawBufferPointer(rebasing: target[initialized..<initialized + count]).copyMemory(from: source)
            initialized += count
        }
    }
}
