// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanContent
import PortolanCore
import PortolanFileSystem

/// The request bodies of `-d`, `-F` and `-T`.
enum UploadBody {
    /// The largest input in bytes that is read into memory: a stream such as standard input, or a file that is changed.
    private static let memoryLimit = 1 << 30

    /// Joins the data of several `-d` and similar options, with `&` between them except before `--json`.
    ///
    /// - Parameter limit: how long input other than a regular file can take to arrive; `nil` for no limit.
    static func form(of arguments: [DataArgument], within limit: Duration? = nil) throws(Failure) -> Body {
        let deadline = limit.map { MonotonicTime.now + $0 }
        var parts: [Body] = []
        for argument in arguments {
            if !parts.isEmpty, argument.isSeparated { parts.append(.text("&")) }
            parts += try Self.parts(argument, until: deadline)
        }
        return .joining(parts)
    }

    /// The same data as text, for the query of a URL.
    static func query(of arguments: [DataArgument], within limit: Duration? = nil) throws(Failure) -> String {
        let deadline = limit.map { MonotonicTime.now + $0 }
        var query = ""
        for argument in arguments {
            if !query.isEmpty, argument.isSeparated { query += "&" }
            switch argument.source {
            case .text(let text): query += text
            case .file(let path, let prefix, let change):
                let bytes = Self.changed(try contents(of: path, until: deadline), change)
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw Failure(.uploadFailed, "'\(path)' is not UTF-8, and cannot be part of a URL; use --data-urlencode '@\(path)'")
                }
                query += prefix + text
            }
        }
        return query
    }

    /// Returns the parts of the body for one option.
    ///
    /// - Parameter deadline: the time at which an unfinished read fails, on the clock of `MonotonicTime`; `nil` for no
    ///   limit.
    private static func parts(_ argument: DataArgument, until deadline: Duration?) throws(Failure) -> [Body] {
        switch argument.source {
        case .text(let text): return [.text(text)]
        case .file(let path, _, .none) where path != "-" && FileSystem.kind(at: path) != .special && FileSystem.kind(at: path) != nil:
            return [try regularFile(path)]
        case .file(let path, let prefix, let change):
            return [.text(prefix), .bytes(changed(try contents(of: path, until: deadline), change))]
        }
    }

    private static func changed(_ bytes: [UInt8], _ change: DataArgument.Change) -> [UInt8] {
        switch change {
        case .none: bytes
        case .removesLineBreaks: bytes.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0 }
        case .encodes: Array(DataArgument.encoded(bytes).utf8)
        }
    }

    /// Reads a whole file, or standard input (`-`).
    private static func contents(of path: String, until deadline: Duration?) throws(Failure) -> [UInt8] {
        if path != "-", FileSystem.kind(at: path) == .directory {
            throw Failure(.uploadFailed, "'\(path)' is a directory, and only a file can be sent; name a file in it")
        }
        let bytes: [UInt8]?
        do throws(SystemError) {
            let file = path == "-" ? Descriptor.standardInput : try FileSystem.openForReading(path)
            bytes = try file.contents(atMost: memoryLimit, until: deadline)
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
        guard let bytes else { throw Failure(.timedOut, "'\(path)' took longer to read than --max-time allows") }
        return bytes
    }

    /// Returns the form of `-F`. Regular files are streamed, and other input is read completely.
    ///
    /// - Parameters:
    ///   - disposition: the disposition of the parts.
    ///   - limit: how long input other than a regular file can take to arrive; `nil` for no limit.
    static func multipartForm(
        of parts: [FormArgument.Part], _ disposition: MultipartForm.Disposition = .formData, within limit: Duration? = nil
    ) throws(Failure) -> MultipartForm {
        var parts = parts[...]
        return try multipartForm(of: &parts, disposition, until: limit.map { MonotonicTime.now + $0 })
    }

    /// Makes a form of the parts up to the end of a multipart body, and removes them from `parts`.
    private static func multipartForm(
        of parts: inout ArraySlice<FormArgument.Part>, _ disposition: MultipartForm.Disposition, until deadline: Duration?
    ) throws(Failure) -> MultipartForm {
        var form = MultipartForm()
        while let part = parts.popFirst(), part.source != .multipartEnd {
            if part.hasIgnoredText {
                Diagnostics.warn(
                    "-F: a text in the part '\(part.name)' has no meaning, and is ignored; for a text with ';' or '(', use --form-string")
            }
            var headers = HTTPFields()
            for header in part.headers {
                guard case .field(let field)? = FieldArgument(header) else {
                    throw Failure(.usage, "-F: a header of the part '\(part.name)' is not a field; write ';headers=\"Name: value\"'")
                }
                headers.append(field)
            }
            var (type, body) = (headers.contains(.contentType) ? part.type : part.mimeType, Body.text(""))
            if part.source == .multipart {
                let nestedForm = try multipartForm(of: &parts, FormArgument.disposition(inBodyOfType: type ?? ""), until: deadline)
                type = "\(type ?? ""); boundary=\(nestedForm.boundary)"
                body = nestedForm.body
            } else {
                body = try self.body(of: part, until: deadline)
            }
            var fields = HTTPFields()
            if let type, HTTPField.isValidValue(type) { fields.append(HTTPField(name: .contentType, value: type)) }
            if let encoder = part.encoder, let name = HTTPField.Name("Content-Transfer-Encoding") {
                fields.append(HTTPField(name: name, value: encoder))
            }
            for field in headers { fields.append(field) }
            let isNameless = part.name.isEmpty && part.filename == nil
            form.append(
                headers.contains(.contentDisposition) || disposition == .attachment && isNameless ? nil : disposition,
                name: part.name.isEmpty ? nil : part.name, filename: part.filename, fields: fields, body: body)
        }
        return form
    }

    /// The body of a part that is not a multipart body.
    private static func body(of part: FormArgument.Part, until deadline: Duration?) throws(Failure) -> Body {
        let encoding = part.encoder.flatMap(TransferEncoding.init)
        let bytes: [UInt8]
        switch part.source {
        case .multipart, .multipartEnd: return .text("")
        case .text(let text):
            if encoding == nil { return .text(text) }
            bytes = Array(text.utf8)
        case .file(let path), .contents(of: let path):
            let isFile = FileSystem.kind(at: path) != .special && FileSystem.kind(at: path) != nil
            if path != "-", isFile, encoding?.isIdentity != false { return try regularFile(path) }
            bytes = try contents(of: path, until: deadline)
        }
        guard let encoding else { return .bytes(bytes) }
        guard let encodedBytes = encoding.encode(bytes) else {
            throw Failure(
                .uploadFailed, "-F: the part '\(part.name)' has a byte that \(encoding.rawValue) cannot have; use ';encoder=base64'")
        }
        return .bytes(encodedBytes)
    }

    /// Streams a file from a byte offset, with the field `Content-Range` (`-T` with `-C`). As in curl, `-C -` sends the
    /// whole file with that field.
    ///
    /// RFC 9110 §14.5
    static func file(_ path: String, continuingAt point: ResumePoint?) throws(Failure) -> RequestBody {
        guard let point, point != .byte(0) else { return RequestBody(body: try file(path)) }
        guard path != "-", FileSystem.kind(at: path) != .special else {
            throw Failure(.uploadFailed, "-C: only a part of a regular file can be sent, and '\(path)' is none")
        }
        let offset: Int64 = if case .byte(let offset) = point { offset } else { 0 }
        let body = try regularFile(path, from: offset)
        guard let length = body.length, length > 0 else {
            if point == .endOfFile { return RequestBody(body: body) }
            throw Failure(.uploadFailed, "-C \(offset): nothing is left to send, because '\(path)' has \(offset) bytes")
        }
        let size = offset + length
        return RequestBody(body: body, fields: [HTTPField(name: .contentRange, value: "bytes \(offset)-\(size - 1)/\(size)")])
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

    private static func regularFile(_ path: String, from offset: Int64 = 0) throws(Failure) -> Body {
        if FileSystem.kind(at: path) == .directory {
            throw Failure(.uploadFailed, "'\(path)' is a directory, and only a file can be sent; name a file in it")
        }
        do throws(LoadError) {
            return try .file(path: path, from: offset)
        } catch {
            throw Failure(.uploadFailed, "cannot read '\(path)': \(error)")
        }
    }

    /// Returns the target URL of an upload. As with curl, a URL that names a folder gets the file's name.
    static func url(_ url: URLRecord, for path: String) throws(Failure) -> URLRecord {
        guard path != "-", url.path.hasSuffix("/"), let name = path.split(separator: "/").last else { return url }
        do throws(URLSyntaxError) {
            let query = url.query.map { "?\($0)" } ?? ""
            return try URLRecord(parsing: "./" + PercentEncoding.encodePath(name) + query, relativeTo: url)
        } catch {
            throw Failure(.badURL, "the name of '\(path)' cannot be part of a URL: \(error); write the whole URL")
        }
    }
}
