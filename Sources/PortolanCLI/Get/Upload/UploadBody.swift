// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore

/// The bodies that `-d` and `-T` name.
enum UploadBody {
    /// How much is taken into memory of what is no regular file, such as standard input.
    private static let memoryLimit = 1 << 30

    /// What several `-d` say, joined with `&`.
    static func form(of arguments: [String]) throws(Failure) -> Body {
        var parts: [Body] = []
        for argument in arguments {
            if !parts.isEmpty { parts.append(.text("&")) }
            parts.append(try part(argument))
        }
        return .joining(parts)
    }

    /// - Parameter argument: the data, `@FILE`, or `@-` for standard input.
    private static func part(_ argument: String) throws(Failure) -> Body {
        guard argument.hasPrefix("@") else { return .text(argument) }
        let path = String(argument.dropFirst())
        do throws(SystemError) {
            let file = path == "-" ? Descriptor.standardInput : try FileSystem.openForReading(path)
            guard path != "-", FileSystem.size(of: file) != nil else { return try wholeBody(of: file) }
            try file.close()
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
        return try regularFile(path)
    }

    /// A file, streamed; also one of unknown length: `-`, a FIFO or a device.
    static func file(_ path: String) throws(Failure) -> Body {
        if path == "-" { return .reading(.standardInput, name: "standard input") }
        guard FileSystem.kind(at: path) == .special else { return try regularFile(path) }
        do throws(SystemError) {
            return .reading(try FileSystem.openForReading(path), name: "'\(path)'")
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
    }

    private static func regularFile(_ path: String) throws(Failure) -> Body {
        do throws(LoadError) {
            return try .file(path: path)
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
    }

    private static func wholeBody(of file: Descriptor) throws(SystemError) -> Body {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= memoryLimit {
            let count = try file.read(into: &buffer)
            guard count > 0 else { return .bytes(bytes) }
            bytes += buffer[..<count]
        }
        throw .fileTooLarge
    }

    /// Where a file is uploaded to: a URL that names a folder gets the file's name, as with curl.
    static func url(_ url: URLRecord, for path: String) throws(Failure) -> URLRecord {
        guard path != "-", url.query == nil, url.path.hasSuffix("/"), let name = path.split(separator: "/").last else { return url }
        do throws(URLSyntaxError) {
            return try URLRecord(parsing: "./" + PercentEncoding.encodePath(name), relativeTo: url)
        } catch {
            throw Failure(.badURL, "the name of '\(path)' cannot stand in a URL: \(error); write the whole URL")
        }
    }
}
