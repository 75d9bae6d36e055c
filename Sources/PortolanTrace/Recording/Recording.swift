// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

/// What requests were answered with: read from a file, and to be written to one.
///
/// Two forms are known: HTTP Archive 1.2, as `portolan get --trace FILE.har` and browsers write it, and the trace in JSON of
/// `portolan get --trace FILE.json`, which has loads of any scheme as they were.
///
///     let recording = try Recording(parsing: bytes)
///     configuration.handlers = [ReplayHandler(recording)]
public struct Recording: Sendable {
    /// How a recording is written.
    public enum Form: String, Hashable, Sendable, CaseIterable {
        /// HTTP Archive 1.2
        case har
        /// The events of each load.
        case json
    }

    /// The largest file that is read and written, in bytes.
    public static let largestFile = 64 << 20

    /// In the order in which they were recorded.
    package private(set) var exchanges: [Exchange]
    /// The document that it was read from, with everything in it that is not understood here.
    let source: JSONValue?
    /// How it was written; `nil` where it was not read from a file.
    public let form: Form?
    /// How many of ``exchanges`` stand in ``source``.
    let sourceCount: Int
    /// What is wrong with the entries that can't be played, each by entry and line. They stay in the file.
    public let problems: [RecordingError]

    /// A recording of nothing.
    public init() { (exchanges, source, form, sourceCount, problems) = ([], nil, nil, 0, []) }

    /// Reads a recording; of which form it is, is seen from what it holds.
    ///
    /// - Parameter bytes: the file's, in UTF-8.
    /// An entry that can't be read is passed over, and is among ``problems``, where others can be read.
    ///
    /// - Throws: what is wrong with it, by entry and line; ``largestFile`` is a limit, too.
    /// - Complexity: linear in the length of the file.
    public init(parsing bytes: [UInt8]) throws(RecordingError) {
        guard bytes.count <= Self.largestFile else {
            throw RecordingError("it has \(bytes.count) bytes, and \(Self.largestFile) are the limit; split it")
        }
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        do throws(JSONError) {
            source = try JSONParser.parse(bytes)
        } catch {
            throw RecordingError("line \(JSONPosition(of: error.offset, in: bytes)): \(error.problem.rawValue)")
        }
        let document = ErrorLocation(source ?? .null)
        do throws(ErrorLocation.Problem) {
            for object in [document, document["log"]].compactMap(\.self) { try object.refuseDuplicates(of: ["log", "entries", "loads"]) }
            let entries: ReadEntries
            switch (document["log"], document["loads"]) {
            case (_?, _): (form, entries) = (.har, try HTTPArchive.exchanges(in: document))
            case (nil, _?): (form, entries) = (.json, try EventTrace.exchanges(in: document))
            case (nil, nil): throw document.problem("has neither the 'log' of an HTTP Archive nor the 'loads' of a trace")
            }
            if entries.exchanges.isEmpty, let problem = entries.problems.first { throw problem }
            exchanges = entries.exchanges
            problems = entries.problems.map { $0.explained(in: bytes) }
        } catch {
            throw error.explained(in: bytes)
        }
        sourceCount = exchanges.count
    }

    /// How many requests it has answers for; one that was redirected counts for each.
    public var count: Int { exchanges.count }

    /// Whether there is a response to any request.
    package var hasAnswers: Bool { exchanges.contains { $0.response != nil } }

    package mutating func add(_ exchange: Exchange) { exchanges.append(exchange) }

    /// Adds what another process has not added meanwhile.
    ///
    /// - Parameter known: how many exchanges were there when `new` were loaded.
    package mutating func add(_ new: some Sequence<Exchange>, besidesFirst known: Int) {
        let others = ReplayIndex(Array(exchanges.dropFirst(known)))
        exchanges += new.filter { !others.hasAnswer(like: $0) && !others.hasFailure(like: $0) }
    }

    /// The file, with a line feed at its end.
    ///
    /// What was read stays as it was, and what was added stands behind it, where the form is that of the file that was read. No file is larger than
    /// ``largestFile``: bodies that don't fit are left out, and so are entries that don't fit without.
    ///
    /// - Parameters:
    ///   - form: how it is to be written.
    ///   - keepingSecrets: whether fields, query parameters, form members and JSON members whose names are those of secrets are in what is added.
    public func bytes(as form: Form, keepingSecrets: Bool = false) -> [UInt8] { file(as: form, keepingSecrets: keepingSecrets).bytes }
}
