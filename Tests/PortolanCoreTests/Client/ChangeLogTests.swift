// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

@Suite struct ChangeLogTests {
    private final class Calls: Sendable {
        let count = Atomic(0)
    }

    private let calls: Calls
    private let log: ChangeLog<String, Int>

    init() {
        let calls = Calls()
        self.calls = calls
        log = ChangeLog { calls.count.add(1, ordering: .relaxed) }
    }

    private func taken() -> [String] {
        log.take().map { key, change in
            switch change {
            case .set(let value): "\(key)=\(value)"
            case .removed: "-\(key)"
            case .removedIfUnchanged(let value): "-\(key)=\(value)"
            }
        }
    }

    @Test func lastChangeOfEachKeyIsTakenInOrder() {
        log.record(.set(1), for: "a")
        log.record(.set(2), for: "b")
        log.record(.removed, for: "c")
        log.record(.set(3), for: "a")
        #expect(log.hasChange(for: "c") && !log.hasChange(for: "d"))
        #expect(taken() == ["b=2", "-c", "a=3"])
        #expect(log.isEmpty && taken() == [])
    }

    @Test func olderChangesComeFirstAndReplaceNothing() {
        log.record(.set(1), for: "a")
        log.recordOlder([(key: "x", change: .set(2)), (key: "a", change: .set(3)), (key: "y", change: .removed)])
        log.recordOlder([(key: "w", change: .set(4)), (key: "y", change: .set(5))])
        #expect(taken() == ["w=4", "x=2", "-y", "a=1"])
    }

    /// One call for all changes that the store has not taken.
    @Test func storeIsWokenOnce() {
        log.notify()
        #expect(calls.count.load(ordering: .relaxed) == 0)
        for number in 0..<3 {
            log.record(.set(number), for: "\(number)")
            log.notify()
        }
        #expect(calls.count.load(ordering: .relaxed) == 1)
        _ = log.take()
        log.record(.removed, for: "a")
        log.notify()
        #expect(calls.count.load(ordering: .relaxed) == 2)
    }
}
