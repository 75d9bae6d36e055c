// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
public import FuzzTargets
import Glibc
import Synchronization

/// Runs one target with libFuzzer. A finding is printed and ends the process by a signal. libFuzzer treats that as a
/// crash, and saves the input.
public enum FuzzDriver {
    private static let target = Mutex<FuzzTarget?>(nil)

    /// Runs until libFuzzer's limits are reached or there is a finding. The program's arguments are libFuzzer's.
    public static func run(_ target: FuzzTarget) -> Never {
        self.target.withLock { $0 = target }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
        let status = unsafe LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
            unsafe FuzzDriver.check(UnsafeBufferPointer(start: bytes, count: count))
            return 0
        }
        exit(status)
    }

    private static func check(_ input: UnsafeBufferPointer<UInt8>) {
        guard let target = target.withLock({ $0 }) else { return }
        do throws(FuzzFinding) {
            try unsafe target.check(Array(input))
        } catch {
            print("finding in '\(target.name)': \(error)")
            fflush(nil)
            abort()
        }
    }
}
