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

    /// The largest file that is read, in bytes.
    public static let largestFile = 64 << 20

    /// In the order in which they were recorded.
    package private(set) var exchanges: [Exchange]
    /// The document that it was read from, with everything in it that is not understood here.
    private let source: JSONValue?
    /// How it was written; `nil` where it was not read from a file.
    public let form: Form?
    /// How many of ``exchanges`` stand in ``source``.
    private let sourceCount: Int

    /// A recording of nothing.
    public init() { (exchanges, source, form, sourceCount) = ([], nil, nil, 0) }

    /// Reads a recording; of which form it is, is seen from what it holds.
    ///
    /// - Parameter bytes: the file's, in UTF-8.
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
        let document = Place(source ?? .null)
        do throws(Place.Problem) {
            switch (document["log"], document["loads"]) {
            case (_?, _): (form, exchanges) = (.har, try HTTPArchive.exchanges(in: document))
            case (nil, _?): (form, exchanges) = (.json, try EventTrace.exchanges(in: document))
            case (nil, nil): throw document.problem("has neither the 'log' of an HTTP Archive nor the 'loads' of a trace")
            }
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

    /// The file, with a line feed at its end.
    ///
    /// What was read stays as it was, and what was added stands behind it, where the form is that of the file that was read.
    ///
    /// - Parameter form: how it is to be written.
    public func bytes(as form: Form) -> [UInt8] {
        let isSame = form == self.form
        let added = exchanges.dropFirst(isSame ? sourceCount : 0)
        let source = isSame ? source : nil
        let document =
            switch form {
            case .har:
                source.map { $0.changing("log") { $0.changing("entries") { $0.appending(added.map(HTTPArchive.entry)) } } }
                    ?? HTTPArchive.value(of: Array(added))
            case .json:
                source.map { $0.changing("loads") { $0.appending(added.map(EventTrace.load)) } }
                    ?? EventTrace.document(added.map(EventTrace.load))
            }
        return document.bytes + [0x0A]
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
