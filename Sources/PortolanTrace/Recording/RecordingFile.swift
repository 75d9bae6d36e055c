// SPDX-License-Identifier: Apache-2.0

package import PortolanJSON

/// A recording as it is written, and what there was no room for.
package struct RecordingFile: Sendable {
    package let bytes: [UInt8]
    /// How many entries stand in it without their bodies.
    package private(set) var entriesWithoutBody = 0
    /// How many entries are not in it.
    package private(set) var missingEntries = 0

    /// What there was no room for, as a clause for a message; `nil` where everything is in it.
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
    ///   - entries: what is added, as it is and without its bodies.
    ///   - document: what holds entries.
    ///   - limit: how large the file may be.
    package init<Entry>(
        _ entries: some Sequence<Entry>, written: (Entry) -> JSONValue, withoutBodies: (Entry) -> JSONValue?,
        in document: ([JSONValue]) -> JSONValue, limit: Int = Recording.largestFile
    ) {
        // With the line feed.
        var size = document([]).bytes.count + 1
        var values: [JSONValue] = []
        func fits(_ value: JSONValue) -> Bool {
            let count = value.bytes.count + 1  // with a comma
            guard size + count <= limit else { return false }
            size += count
            values.append(value)
            return true
        }
        for entry in entries where !fits(written(entry)) {
            if let reduced = withoutBodies(entry), fits(reduced) { entriesWithoutBody += 1 } else { missingEntries += 1 }
        }
        bytes = document(values).bytes + [0x0A]
    }
}

extension Recording {
    /// The file, and what is not in it. A request of which something is recorded already gets no entry without its body.
    package func file(as form: Form, keepingSecrets: Bool = false, limit: Int = largestFile) -> RecordingFile {
        let isSame = form == self.form
        let redaction = Redaction(keepsSecrets: keepingSecrets)
        let source = isSame ? source : nil
        let known = ReplayIndex(isSame ? Array(exchanges.prefix(sourceCount)) : [])
        return RecordingFile(
            exchanges.dropFirst(isSame ? sourceCount : 0).lazy.map { $0.redacted(by: redaction) },
            written: { form.entry($0) }, withoutBodies: { known.hasAny(like: $0) ? JSONValue?.none : form.entry($0.withoutBodies) },
            in: { form.document($0, in: source) }, limit: limit)
    }
}

extension Recording.Form {
    fileprivate func entry(_ exchange: Exchange) -> JSONValue {
        switch self {
        case .har: HTTPArchive.entry(exchange)
        case .json: EventTrace.load(exchange)
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
    /// An object with another value for one of its members.
    fileprivate func changing(_ name: String, _ change: (JSONValue) -> JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.map { $0.isNamed(name) ? Member(name: name, value: change($0.value)) : $0 })
    }

    fileprivate func appending(_ new: [JSONValue]) -> JSONValue {
        guard case .array(let elements) = self else { return self }
        return .array(elements + new)
    }
}
