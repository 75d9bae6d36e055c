// SPDX-License-Identifier: Apache-2.0

/// What a target found wrong with the code under test, in one line.
public struct FuzzFinding: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Throws a finding that says `message`, unless `condition` holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(FuzzFinding) {
    if !condition { throw FuzzFinding(message()) }
}
