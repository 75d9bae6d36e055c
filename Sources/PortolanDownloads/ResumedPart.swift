// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanFileSystem

/// The bytes of an earlier download that a new one continues.
struct ResumedPart: Sendable {
    let data: ResumeData
    let file: PartialFile
    /// The number of bytes in the file.
    let size: Int64

    /// Opens the partial file.
    ///
    /// - Returns: `nil` if the file is gone, so that all bytes must be received again.
    /// - Throws: ``LoadError/Code/badRequest`` if the data belongs to another destination; ``LoadError/Code/ioFailed``
    ///   if the file is not one of this user, or another download writes it.
    init?(_ data: ResumeData, to destination: DownloadDestination) throws(LoadError) {
        guard let path = destination.path(for: data) else {
            throw LoadError(.badRequest, message: "the resume data is not for this destination")
        }
        do throws(LoadError) {
            file = try PartialFile(continuing: data, for: path, collision: destination.existingFile.collision)
        } catch {
            if FileSystem.isMissing(FileSystem.split(path).folder + data.partialName) { return nil }
            throw error
        }
        self.data = data
        let existing = FileSystem.size(of: file.descriptor) ?? 0
        size = min(existing, data.bytesReceived ?? existing)
        if size == existing { return }
        do throws(SystemError) {
            try FileSystem.truncate(file.descriptor, to: size)
        } catch {
            file.close()
            throw LoadError(.ioFailed, message: "the partial file '\(file.path)' can't be shortened: \(error)")
        }
    }

    /// Asks for the missing bytes, if the server still has the same version.
    ///
    /// RFC 9110 §13.1.5, §14.2
    func requestRest(in request: inout Request) {
        guard size > 0 else { return }
        request.fields[.range] = "bytes=\(size)-"
        request.fields[.ifRange] = data.validator
    }

    /// What a response to the request of ``requestRest(in:)`` means.
    enum Answer: Equatable {
        /// The body has the missing bytes up to `end`. `size` is that of the whole file; `nil` if the server does not
        /// say it.
        case rest(end: Int64, size: Int64?)
        /// No bytes are missing. The body is not part of the file.
        case complete
        /// The body is the whole file, because of the reason.
        case whole(String)
        /// The body is of no use: the whole file must be requested, because of the reason.
        case useless(String)
        /// The response is an error of the server.
        case error
    }

    func answer(of response: Response) -> Answer {
        let range = ContentRange(in: response.fields)
        switch Self.status(of: response) {
        case 206 where size > 0:
            guard isSameVersion(response, size: range?.size) else { return .useless("the server has another version now") }
            guard response.remainingContentCodings.isEmpty, !response.fields.contains(.contentEncoding) else {
                return .useless("the server sends the missing bytes in a content coding")
            }
            guard let range, let bytes = range.bytes, bytes.lowerBound == size else {
                return .useless("the server sends other bytes than those that are missing")
            }
            return .rest(end: bytes.upperBound, size: range.size)
        case 416 where size > 0:
            return range?.size == size && isSameVersion(response, size: size)
                ? .complete : .useless("the server has another version now")
        case 206: return .error
        case 200..<300: return .whole(size > 0 ? "the server has another version now, or sends no parts" : "no bytes had been received")
        default: return .error
        }
    }

    /// The status code. In protocols without one, only `Content-Range` marks a partial response.
    static func status(of response: Response) -> Int {
        response.status?.code ?? (ContentRange(in: response.fields) == nil ? 200 : 206)
    }

    /// Returns `false` if the response shows that the server has another version than that of the bytes. This is
    /// checked because some servers ignore `If-Range`.
    ///
    /// - Parameter size: of the whole file; `nil` if the response does not say it.
    private func isSameVersion(_ response: Response, size: Int64?) -> Bool {
        if let size, let expected = data.expectedBytes, size != expected { return false }
        return Self.hasVersion(data.validator, response)
    }

    private static func hasVersion(_ validator: String, _ response: Response) -> Bool {
        guard let current = response.fields[validator.hasPrefix("\"") ? .eTag : .lastModified], current != validator else { return true }
        // A date can have another form.
        let now = Int64(Date().timeIntervalSince1970)
        return HTTPDate(parsing: current, now: now).map { $0 == HTTPDate(parsing: validator, now: now) } ?? false
    }

    /// Whether a partial response can have bytes of a version: it names no other one, and has no content coding.
    static func mayHaveVersion(_ validator: String, _ response: Response) -> Bool {
        hasVersion(validator, response) && !response.fields.contains(.contentEncoding) && response.remainingContentCodings.isEmpty
    }

    /// The value of `If-Range` for the version in a response; `nil` if a download of it can't be continued.
    ///
    /// RFC 9110 §13.1.5
    static func validator(of response: Response, now: Int64) -> String? {
        // Decoded bytes have other offsets than those of the server.
        guard !response.fields.contains(.contentEncoding), response.remainingContentCodings.isEmpty else { return nil }
        if response.status == nil {
            // For example `file:`. Its date comes from this machine's clock, so it is used whatever its age is.
            return response.fields.contains(.eTag)
                ? response.fields[.eTag].flatMap { $0.hasPrefix("\"") ? $0 : nil } : response.fields[.lastModified]
        }
        return StrongValidator(of: response.fields, now: now).flatMap { String(validating: $0.ifRange, as: UTF8.self) }
    }
}

extension DownloadDestination.ExistingFile {
    var collision: PartialFile.Collision {
        switch self {
        case .replace: .replaces
        case .fail: .fails
        case .keepBoth: .renames
        }
    }
}
