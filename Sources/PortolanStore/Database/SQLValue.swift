// SPDX-License-Identifier: Apache-2.0

#if Persistence
    /// A value in a row.
    enum SQLValue: Hashable, Sendable {
        case null
        case integer(Int64)
        case text(String)
        case blob([UInt8])

        static func bool(_ value: Bool) -> Self { .integer(value ? 1 : 0) }

        var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
        var text: String? { if case .text(let value) = self { value } else { nil } }
        var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
        /// `nil` for anything but the integers 0 and 1.
        var bool: Bool? { integer.flatMap { $0 == 0 ? false : $0 == 1 ? true : nil } }
    }
#endif
