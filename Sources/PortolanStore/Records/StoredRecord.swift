// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials

    /// A value of a storage in memory, as a row of a store's file.
    protocol StoredRecord: Equatable, Sendable {
        associatedtype Key: Hashable & Sendable
        associatedtype Value: Sendable

        static var schema: StoreSchema { get }
        /// The values of the key columns.
        static func columns(of key: Key) -> [SQLValue]

        init(_ value: Value)
        /// Reads a row in the order of the schema's columns.
        ///
        /// - Returns: `nil` for a row that this version does not write. Such a row stays in the file.
        init?(_ columns: [SQLValue])

        var key: Key { get }
        var value: Value { get }
        /// The values of the columns that are not key columns.
        var values: [SQLValue] { get }
        /// The time at which the value expires; `nil` for never.
        var expiry: Date? { get }
    }

    extension Date {
        /// Microseconds since 1970.
        var microseconds: Int64 {
            let time = (timeIntervalSince1970 * 1e6).rounded()
            // Dates that stand for "never" or "always" are reduced to numbers that fit.
            return time < -9e18 ? -9_000_000_000_000_000_000 : time > 9e18 ? 9_000_000_000_000_000_000 : Int64(time)
        }

        init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1e6) }
    }
#endif
