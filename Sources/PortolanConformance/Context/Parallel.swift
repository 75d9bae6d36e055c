// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Runs the same code on several threads in parallel.
enum Parallel {
    /// The results of `body` on `count` threads, which begin together.
    static func results<Value: Sendable>(
        threads count: Int, within limit: Duration = .seconds(30), _ body: @escaping @Sendable (Int) -> Value
    ) throws(CheckSkipped) -> [Value] {
        let state = ConditionLock((ready: 0, isAbandoned: false, values: [Int: Value]()))
        for index in 0..<count {
            do throws(LoadError) {
                try PlatformThread.start {
                    state.withLockBroadcasting { $0.ready += 1 }
                    guard state.wait(for: { $0.isAbandoned ? false : $0.ready == count ? true : nil }) else { return }
                    let value = body(index)
                    state.withLockBroadcasting { $0.values[index] = value }
                }
            } catch {
                state.withLockBroadcasting { $0.isAbandoned = true }
                throw CheckSkipped.resourceShortage(error.message)
            }
        }
        let values = state.wait(atMost: limit) { $0.values.count == count ? $0.values : nil }
        guard let values else { throw CheckSkipped("\(count) threads did not return within \(limit)") }
        return (0..<count).compactMap { values[$0] }
    }
}
