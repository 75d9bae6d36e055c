// SPDX-License-Identifier: Apache-2.0

/// A one-time signal between a script and a test: one side opens the gate, the other waits for it.
package final class Gate: Sendable {
    private let openState = Observed(false)
    /// Readable once the gate is open. The threads of the servers wait for this event.
    let event: FileDescriptor

    package init() throws {
        event = try SystemCalls.event()
    }

    package var isOpen: Bool { openState.state }

    package func open() {
        SystemCalls.signal(event)
        openState.update { $0 = true }
    }

    /// - Throws: `CancellationError` if the task is cancelled first.
    package func wait() async throws {
        try await openState.wait { $0 }
    }
}
