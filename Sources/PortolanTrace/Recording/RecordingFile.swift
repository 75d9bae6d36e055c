// SPDX-License-Identifier: Apache-2.0

package import PortolanJSON

/// The contents of a recording file, and how much did not fit.
package struct RecordingFile: Sendable {
    package let bytes: [UInt8]
    /// The number of entries that were written without their bodies.
    package private(set) var entriesWithoutBody = 0
    /// The number of entries that were left out.
    package private(set) var missingEntries = 0

    /// Describes what did not fit, as a clause for a message; `nil` if everything fits.
    package var omission: String? {
        let limit = "no file may be larger than \(Recording.largestFile >> 20) MiB"
        return switch (entriesWithoutBody, missingEntries) {
        case (0, 0): nil
        case (let count, 0): "\(limit): the bodies of \(count) of its entries are left out"
        case (0, let count): "\(limit): \(count) entries are left out"
        case (let bodies, let count): "\(limit): the bodies of \(bodies) of its entries are left out, and \(count) entries"
        }
    }

    /// - Parameters:
    ///   - entries: the entries to write.
    ///   - written: returns the JSON of an entry.
    ///   - withoutBodies: returns the JSON of an entry without its bodies; `nil` to leave out the entry.
    ///   - document: makes the document around the entries.
    ///   - limit: the largest size of the file in bytes.
    package init<Entry>(
        _ entries: some Sequence<Entry>, written: (Entry) -> JSONValue, withoutBodies: (Entry) -> JSONValue?,
        in document: ([JSONValue]) -> JSONValue, limit: Int = Recording.largestFile
    ) {
        // Includes the line feed.
        var size = document([]).bytes.count + 1
        var values: [JSONValue] = []
        func appendIfItFits(_ value: JSONValue) -> Bool {
            let count = value.bytes.count + 1  // with a comma
            guard size + count <= limit else { return false }
            size += count
            values.append(value)
            return true
        }
        for entry in entries where !appendIfItFits(written(entry)) {
            if let smallEntry = withoutBodies(entry), appendIfItFits(smallEntry) { entriesWithoutBody += 1 } else { missingEntries += 1 }
        }
        bytes = document(values).bytes + [0x0A]
    }
}

extension Recording {
    /// Makes the file, and counts what does not fit. If the file that was read has an entry for the same request, a new
    /// entry is not added without its bodies.
    package func file(as form: Form, keepingSecrets: Bool = false, limit: Int = largestFile) -> RecordingFile {
        let isSameForm = form == self.form
        let redaction = Redaction(keepsSecrets: keepingSecrets)
        let source = isSameForm ? source : nil
        let recordedIndex = ReplayIndex(isSameForm ? Array(transactions.prefix(sourceCount)) : [])
        return RecordingFile(
            transactions.dropFirst(isSameForm ? sourceCount : 0).lazy.map { $0.redacted(by: redaction) },
            written: { form.entry($0) }, withoutBodies: { recordedIndex.hasAny(like: $0) ? JSONValue?.none : form.entry($0.withoutBodies) },
            in: { form.document($0, in: source) }, limit: limit)
    }
}

extension Recording.Form {
    fileprivate func entry(_ transaction: Transaction) -> JSONValue {
        switch self {
        case .har: HTTPArchive.entry(transaction)
        case .json: EventTrace.load(transaction)
        }
    }

    /// A new document, or `source` with more entries.
    fileprivate func document(_ entries: [JSONValue], in source: JSONValue?) -> JSONValue {
        switch self {
        case .har: source?.changing("log") { $0.changing("entries") { $0.appending(entries) } } ?? HTTPArchive.document(entries)
        case .json: source?.changing("loads") { $0.appending(entries) } ?? EventTrace.document(entries)
        }
    }
}

extension JSONValue {
    /// Returns the object with a changed value of one member.
    fileprivate func changing(_ name: String, _ change: (JSONValue) -> JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.map { $0.isNamed(name) ? Member(name: name, value: change($0.value)) : $0 })
    }

    fileprivate func appending(_ newElements: [JSONValue]) -> JSONValue {
        guard case .array(let elements) = self else { return self }
        return .array(elements + newElements)
    }
}
