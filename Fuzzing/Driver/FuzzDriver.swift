// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
public import FuzzTargets
import Glibc
import Synchronization

/// Hands one target to libFuzzer. A finding is printed and ends the process by a signal, which libFuzzer takes for a crash: it keeps the input.
public enum FuzzDriver {
    private static let target = Mutex<FuzzTarget?>(nil)

    /// Runs until libFuzzer's limits are reached or something is found; the arguments are libFuzzer's.
    public static func run(_ target: FuzzTarget) -> Never {
        self.target.withLock { $0 = target }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
        let status = unsafe LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
            unsafe FuzzDriver.judge(UnsafeBufferPointer(start: bytes, count: count))
            return 0
        }
        exit(status)
    }

    private static func judge(_ input: UnsafeBufferPointer<UInt8>) {
        guard let target = target.withLock({ $0 }) else { return }
        do throws(Finding) {
            try unsafe target.judge(Array(input))
        } catch {
            print("finding in '\(target.name)': \(error)")
            fflush(nil)
            abort()
        }
    }
}
