// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

@Suite struct ChangeLogTests {
    /// Counts the calls of the log's closure, which wakes the store.
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

    /// Takes the changes out of the log, and returns them as texts, such as `a=1` or `-a`.
    private func takeChanges() -> [String] {
        log.removeChanges().map { key, change in
            switch change {
            case .set(let value): "\(key)=\(value)"
            case .removed: "-\(key)"
            case .removedIfUnchanged(let value): "-\(key)=\(value)"
            }
        }
    }

    @Test func onlyTheLastChangeOfEachKeyIsTaken() {
        log.record(.set(1), for: "a")
        log.record(.set(2), for: "b")
        log.record(.removed, for: "c")
        log.record(.set(3), for: "a")
        #expect(log.hasChange(for: "c") && !log.hasChange(for: "d"))
        #expect(takeChanges() == ["b=2", "-c", "a=3"])
        #expect(log.isEmpty && takeChanges() == [])
    }

    @Test func olderChangesComeFirstAndReplaceNothing() {
        log.record(.set(1), for: "a")
        log.recordOlder([(key: "x", change: .set(2)), (key: "a", change: .set(3)), (key: "y", change: .removed)])
        log.recordOlder([(key: "w", change: .set(4)), (key: "y", change: .set(5))])
        #expect(takeChanges() == ["w=4", "x=2", "-y", "a=1"])
    }

    /// The log calls its closure once for all changes that the store has not taken yet.
    @Test func storeIsWokenOncePerTake() {
        log.notify()
        #expect(calls.count.load(ordering: .relaxed) == 0)
        for number in 0..<3 {
            log.record(.set(number), for: "\(number)")
            log.notify()
        }
        #expect(calls.count.load(ordering: .relaxed) == 1)
        _ = log.removeChanges()
        log.record(.removed, for: "a")
        log.notify()
        #expect(calls.count.load(ordering: .relaxed) == 2)
    }
}
