// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

/// Recorded responses to requests, which can be read from a file and written to one.
///
/// There are two formats: HTTP Archive 1.2, as `portolan get --trace FILE.har` and browsers write it, and the JSON
/// trace of `portolan get --trace FILE.json`, which represents loads of any scheme completely.
///
///     let recording = try Recording(parsing: bytes)
///     configuration.handlers = [ReplayHandler(recording)]
public struct Recording: Sendable {
    /// The file format of a recording.
    public enum Form: String, Hashable, Sendable, CaseIterable {
        /// HTTP Archive 1.2
        case har
        /// The events of each load.
        case json
    }

    /// The size limit of files to read and write, in bytes.
    public static let largestFile = 64 << 20

    /// The transactions in the order of their recording.
    package private(set) var transactions: [Transaction]
    /// The document that the recording was read from, including everything that this type does not interpret.
    let source: JSONValue?
    /// The format of the file that the recording was read from; `nil` without a file.
    public let form: Form?
    /// The number of ``transactions`` that ``source`` contains.
    let sourceCount: Int
    /// The problems of entries that cannot be replayed, each with entry and line. These entries stay in the file.
    public let problems: [RecordingError]

    /// Makes an empty recording.
    public init() { (transactions, source, form, sourceCount, problems) = ([], nil, nil, 0, []) }

    /// Reads a recording; detects its format from the contents.
    ///
    /// Unreadable entries are skipped and listed in ``problems``, unless no entry is readable.
    ///
    /// - Parameter bytes: the contents of the file, in UTF-8.
    /// - Throws: ``RecordingError`` with entry and line if the file is no recording, if no entry is readable, or if the
    ///   file is larger than ``largestFile``.
    /// - Complexity: linear in the length of the file.
    public init(parsing bytes: [UInt8]) throws(RecordingError) {
        guard bytes.count <= Self.largestFile else {
            throw RecordingError("it has \(bytes.count) bytes, and the limit is \(Self.largestFile); split it")
        }
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        do throws(JSONError) {
            source = try JSONParser.parse(bytes)
        } catch {
            throw RecordingError("line \(JSONPosition(of: error.offset, in: bytes)): \(error.problem.rawValue)")
        }
        let document = ErrorLocation(source ?? .null)
        do throws(ErrorLocation.Problem) {
            for object in [document, document["log"]].compactMap(\.self) { try object.rejectDuplicates(of: ["log", "entries", "loads"]) }
            let entries: ReadEntries
            switch (document["log"], document["loads"]) {
            case (_?, _): (form, entries) = (.har, try HTTPArchive.transactions(in: document))
            case (nil, _?): (form, entries) = (.json, try EventTrace.transactions(in: document))
            case (nil, nil): throw document.problem("has neither the 'log' of an HTTP Archive nor the 'loads' of a trace")
            }
            if entries.transactions.isEmpty, let problem = entries.problems.first { throw problem }
            transactions = entries.transactions
            problems = entries.problems.map { $0.explained(in: bytes) }
        } catch {
            throw error.explained(in: bytes)
        }
        sourceCount = transactions.count
    }

    /// The number of requests that have a recorded response or failure; each redirect counts as a request.
    public var count: Int { transactions.count }

    /// Whether any request has a response.
    package var hasResponses: Bool { transactions.contains { $0.response != nil } }

    package mutating func add(_ transaction: Transaction) { transactions.append(transaction) }

    /// Adds transactions, except those that another process added in the meantime.
    ///
    /// - Parameter oldCount: the number of transactions that the recording had when `newTransactions` were loaded.
    package mutating func add(_ newTransactions: some Sequence<Transaction>, besidesFirst oldCount: Int) {
        let addedByOthers = ReplayIndex(Array(transactions.dropFirst(oldCount)))
        transactions += newTransactions.filter { !addedByOthers.hasResponse(like: $0) && !addedByOthers.hasFailure(like: $0) }
    }

    /// Returns the contents of the file, with a line feed at the end.
    ///
    /// If `form` is the format of the file that was read, the old entries stay unchanged and the new ones follow them.
    /// The result is never larger than ``largestFile``: bodies that do not fit are left out, and so are entries that do
    /// not fit even without a body.
    ///
    /// - Parameters:
    ///   - form: the format to write.
    ///   - keepingSecrets: whether new entries keep fields, query parameters, form members and JSON members with names
    ///     of secrets.
    public func bytes(as form: Form, keepingSecrets: Bool = false) -> [UInt8] { file(as: form, keepingSecrets: keepingSecrets).bytes }
}
