// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanContent
import PortolanCore

/// The request bodies of `-d` and `-T`.
enum UploadBody {
    /// The largest input in bytes that is read into memory if it is not a regular file, such as standard input.
    private static let memoryLimit = 1 << 30

    /// Joins the data of several `-d` with `&`.
    ///
    /// - Parameter limit: how long input other than a regular file can take to arrive; `nil` for no limit.
    static func form(of arguments: [String], within limit: Duration? = nil) throws(Failure) -> Body {
        let end = limit.map { MonotonicTime.now + $0 }
        var parts: [Body] = []
        for argument in arguments {
            if !parts.isEmpty { parts.append(.text("&")) }
            parts.append(try part(argument, until: end))
        }
        return .joining(parts)
    }

    /// Returns the body for one `-d`.
    ///
    /// - Parameters:
    ///   - argument: the data, `@FILE`, or `@-` for standard input.
    ///   - end: when reading fails, on the clock of `MonotonicTime`; `nil` for no limit.
    private static func part(_ argument: String, until end: Duration?) throws(Failure) -> Body {
        guard argument.hasPrefix("@") else { return .text(argument) }
        let path = String(argument.dropFirst())
        if path != "-" {
            switch FileSystem.kind(at: path) {
            case .regular, .directory: return try regularFile(path)
            case .special, nil: break
            }
        }
        let bytes: [UInt8]?
        do throws(SystemError) {
            let file = path == "-" ? Descriptor.standardInput : try FileSystem.openForReading(path)
            bytes = try file.contents(atMost: memoryLimit, until: end)
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
        guard let bytes else { throw Failure(.timedOut, "'\(path)' took longer to read than --max-time allows") }
        return .bytes(bytes)
    }

    /// Streams a file, or input of unknown length: `-`, a FIFO or a device.
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
        if FileSystem.kind(at: path) == .directory {
            throw Failure(.uploadFailed, "'\(path)' is a directory, and only a file can be sent; name a file in it")
        }
        do throws(LoadError) {
            return try .file(path: path)
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
    }

    /// Returns the target URL of an upload. As with curl, a URL that names a folder gets the file's name.
    static func url(_ url: URLRecord, for path: String) throws(Failure) -> URLRecord {
        guard path != "-", url.query == nil, url.path.hasSuffix("/"), let name = path.split(separator: "/").last else { return url }
        do throws(URLSyntaxError) {
            return try URLRecord(parsing: "./" + PercentEncoding.encodePath(name), relativeTo: url)
        } catch {
            throw Failure(.badURL, "the name of '\(path)' cannot be part of a URL: \(error); write the whole URL")
        }
    }
}
