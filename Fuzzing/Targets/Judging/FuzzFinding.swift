// SPDX-License-Identifier: Apache-2.0

/// An error in the code under test that a target found, in one line.
public struct FuzzFinding: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Throws a finding with `message`, unless `condition` is true.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(FuzzFinding) {
    if !condition { throw FuzzFinding(message()) }
}
