// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanPlugins

/// `portolan.nested/1` as the judge offers it.
@safe
enum JudgeExtensions {
    static let nested = PORTOLAN_NESTED

    /// The table of an extension; `nil` for one that the judge does not have.
    static func table(_ identifier: String) -> UnsafeRawPointer? {
        identifier == nested ? unsafe UnsafeRawPointer(nestedTable.pointer) : nil
    }

    @safe
    private struct Table: @unchecked Sendable {  // … because it is written once, before it is shared
        let pointer: UnsafeMutablePointer<portolan_nested_table>
    }

    private static let nestedTable: Table = {
        let pointer = UnsafeMutablePointer<portolan_nested_table>.allocate(capacity: 1)
        unsafe pointer.initialize(
            to: portolan_nested_table(
                size: UInt32(MemoryLayout<portolan_nested_table>.size), reserved: 0,
                open: { client, change in unsafe JudgeClient.at(client).openNested(Given(change.orNil, GivenChange.init)).handle },
                response: { nested, place in unsafe JudgedNested.at(nested).getResponse(place) },
                next: { nested, place in unsafe JudgedNested.at(nested).next(place) },
                error: { nested in unsafe JudgedNested.at(nested).getError() },
                close: { nested in unsafe JudgedNested.at(nested).close() }))
        return unsafe Table(pointer: pointer)
    }()
}
