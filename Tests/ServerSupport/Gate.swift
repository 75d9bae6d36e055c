// SPDX-License-Identifier: Apache-2.0

/// What one side opens, once, and the other waits for: a script for the test, or the test for a script.
package final class Gate: Sendable {
    private let opened = Observed(false)
    /// Readable once the gate is open, for the threads of the scripts.
    let event: FileDescriptor

    package init() throws {
        event = try SystemCalls.event()
    }

    package var isOpen: Bool { opened.state }

    package func open() {
        SystemCalls.signal(event)
        opened.update { $0 = true }
    }

    /// - Throws: `CancellationError` where the task is cancelled first.
    package func wait() async throws {
        try await opened.wait { $0 }
    }
}
