// SPDX-License-Identifier: Apache-2.0

@testable import PortolanHTTP

extension SocketLoop {
    /// Has `body` run in a turn of the calling thread's.
    func inTurn<Value>(_ body: () throws -> Value) rethrows -> Value {
        enterInTime()
        defer { leave() }
        return try body()
    }
}
