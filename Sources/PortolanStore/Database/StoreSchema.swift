// SPDX-License-Identifier: Apache-2.0

#if Persistence
    /// The layout of a store's file with one table.
    struct StoreSchema: Sendable {
        /// The name of the file.
        let file: String
        let format: StoreFormat
        let table: String
        /// The columns that identify a row.
        let keys: [String]
        /// The other columns. The first of them tells whether a row was replaced.
        let values: [String]
        /// The columns with the type TEXT.
        let texts: Set<String>

        /// All rows, the oldest first.
        var select: String { "SELECT \((keys + values).joined(separator: ", ")) FROM \(table) ORDER BY number" }

        /// Inserts a row, or replaces the values of the row with the same keys. That row keeps its place in the order.
        var upsert: String {
            let columns = keys + values
            let placeholders = columns.map(placeholder).joined(separator: ", ")
            let update = values.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            return "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(placeholders)) "
                + "ON CONFLICT (\(keys.joined(separator: ", "))) DO UPDATE SET \(update)"
        }

        var delete: String { delete(where: keys) }

        /// Deletes a row, if its first column of ``values`` still has a known value.
        var deleteUnchanged: String { delete(where: keys + values.prefix(1)) }

        private func delete(where columns: [String]) -> String {
            "DELETE FROM \(table) WHERE \(columns.map { "\($0) = \(placeholder($0))" }.joined(separator: " AND "))"
        }

        /// The placeholder for a column's value in a statement. Texts are bound as bytes, because they can contain NUL.
        private func placeholder(_ column: String) -> String { texts.contains(column) ? "CAST(? AS TEXT)" : "?" }
    }
#endif
