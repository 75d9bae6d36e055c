// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// Makes an array from the bytes that `fill` appends, which are at most `capacity`.
    package init<Failure: Error>(capacity: Int, _ fill: (inout OutputRawSpan) throws(Failure) -> Void) throws(Failure) {
        var failure: Failure?
        self = unsafe .init(unsafeUninitializedCapacity: capacity) { buffer, count in
            let memory = UnsafeMutableRawBufferPointer(buffer)
            var output = unsafe OutputRawSpan(buffer: memory, initializedCount: 0)
            do throws(Failure) {
                try fill(&output)
            } catch {
                failure = error
            }
            count = unsafe output.finalize(for: memory)
        }
        if let failure { throw failure }
    }
}
