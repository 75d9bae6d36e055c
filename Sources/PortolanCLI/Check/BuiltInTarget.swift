// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan
import PortolanConformance
import PortolanCore
import PortolanData
import PortolanFile
import PortolanJSON
import PortolanPlugins

/// A built-in handler as a conformance target: `data:`, `file:`, `http:` or `https:`, with URLs whose results are
/// known.
enum BuiltInTarget: String {
    case data = "data:"
    case file = "file:"
    case http = "http:"
    case https = "https:"

    /// - Parameters:
    ///   - sectionPath: the path of a file with a conformance section, which replaces the built-in section; or `nil`.
    ///   - folder: a folder for the files that the `file:` URLs load. The folder must exist until the checks end.
    func target(_ sectionPath: String?, in folder: RunFolder) throws(Failure) -> ConformanceTarget {
        let section = if let sectionPath { try Self.section(at: sectionPath) } else { try builtInSection(in: folder) }
        return ConformanceTarget(section, in: sectionPath.map(Self.folder) ?? folder.path, handler: makeHandler)
    }

    private var makeHandler: @Sendable () -> any ProtocolHandler {
        switch self {
        case .data: { DataHandler() }
        case .file: { FileHandler() }
        case .http, .https:
            {
                // Idle connections close soon, so that no check reports pooled connections as leaks.
                var configuration = HTTPConfiguration()
                configuration.connectionLimits.idleTimeout = .milliseconds(200)
                return HTTPHandler(configuration: configuration)
            }
        }
    }

    /// The folder of the file, as in dirname(1).
    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func section(at path: String) throws(Failure) -> ConformanceSection {
        let bytes: [UInt8]
        do throws(LoadError) {
            guard let localPath = LocalPath(path) else {
                throw LoadError(.notFound, message: "a file name has at least one byte, and no NUL")
            }
            // One byte more than the limit is read, so that the parser reports a file that is too large for a manifest.
            bytes = try RegularFile(at: localPath).contents(atMost: PluginManifest.sizeLimit + 1)
        } catch {
            throw Failure(
                .usage, "--loads: '\(path)' can't be read: \(error.phrase); name a file with a conformance section, as in a manifest")
        }
        return try Failure.explaining { () throws(PluginProblem) in try ConformanceSection(parsing: bytes, path: path) }
    }

    private func builtInSection(in folder: RunFolder) throws(Failure) -> ConformanceSection {
        let text = Array("It is twelve o'clock in Greenwich.\n".utf8)
        let large = (0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }
        switch self {
        case .data:
            // Percent-encoding takes 9 bytes for each 3 bytes of body: about half a mebibyte of URL.
            let run = String(repeating: "%E2%82%AC", count: 60_000)
            return try Self.section([
                successfulLoadJSON("data:text/plain,It%20is%20twelve%20o'clock%20in%20Greenwich.%0A", text, ["small"], mime: "text/plain"),
                successfulLoadJSON(
                    "data:text/plain;charset=utf-8;base64,SXQgaXMgdHdlbHZlIG8nY2xvY2sgaW4gR3JlZW53aWNoLgo=", text, ["small"],
                    mime: "text/plain"),
                successfulLoadJSON("data:image/png,", [], ["empty"], mime: "image/png"),
                successfulLoadJSON("data:,\(run)", Array(String(repeating: "\u{20AC}", count: 60_000).utf8), ["large"], mime: "text/plain"),
                failingLoadJSON("data:;base64,not%20base64!", "badURL"), failingLoadJSON("data:nocomma", "badURL"),
            ])
        case .file:
            try folder.write(text, to: "clock.txt")
            try folder.write([], to: "empty.bin")
            try folder.write(large, to: "large.bin")
            let root = "file://\(folder.path)"
            return try Self.section([
                successfulLoadJSON("\(root)/clock.txt", text, ["small"], mime: "text/plain"),
                successfulLoadJSON("\(root)/empty.bin", [], ["empty"]),
                successfulLoadJSON("\(root)/large.bin", large, ["large"]), failingLoadJSON("\(root)/nothing.txt", "notFound"),
            ])
        case .http, .https:
            throw Failure(
                .usage,
                "the result of an '\(rawValue)' URL depends on a server; give --loads FILE, a conformance section with URLs of your server")
        }
    }

    private func successfulLoadJSON(_ url: String, _ body: [UInt8], _ tags: [String], mime: String? = nil) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init(name: "url", value: .string(url)), .init(name: "length", value: .integer(Int64(body.count))),
            .init(name: "sha256", value: .string(SHA256.hexadecimal(of: body))),
            .init(name: "tags", value: .array(tags.map(JSONValue.string))),
        ]
        if let mime { members.append(.init(name: "mime", value: .string(mime))) }
        return .object(members)
    }

    private func failingLoadJSON(_ url: String, _ error: String) -> JSONValue {
        ["url": .string(url), "error": .string(error), "tags": ["fails"]]
    }

    private static func section(_ loads: [JSONValue]) throws(Failure) -> ConformanceSection {
        let value: JSONValue = ["loads": .array(loads)]
        return try Failure.explaining { () throws(PluginProblem) in try ConformanceSection(parsing: value.bytes, path: "built in") }
    }
}

extension RunFolder {
    fileprivate func write(_ bytes: [UInt8], to name: String) throws(Failure) {
        guard FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data(bytes)) else {
            throw Failure(.writeFailed, "'\(path)/\(name)' can't be written")
        }
    }
}
