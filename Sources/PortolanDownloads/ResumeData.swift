// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import PortolanCore
import PortolanFileSystem
public import PortolanURL

/// What a later download needs to continue an incomplete one, even in another process.
///
/// A download that ends early keeps its bytes in a hidden file beside its destination. This value names that file, the
/// request, and the validator with which the server recognises the version of the resource. Store it with any encoder:
/// its format is versioned.
///
/// It has the fields of the request, but not `Authorization`, `Proxy-Authorization`, `Cookie`, those that
/// ``RedirectPolicy/originFields`` names, and those of ``Loader/Configuration/defaultFields``. Name other fields with
/// secrets in `originFields`.
///
/// Resume data from an untrusted source can't reach other files: the file must be beside the destination that the
/// caller names, have the name of a partial file, belong to this user, and not be in use. But it decides which URL is
/// loaded: check ``url``.
public struct ResumeData: Hashable, Sendable {
    /// The URL of the download, without user and password.
    public let url: URLRecord
    /// The number of bytes that the partial file has; `nil` if only the file itself says it, as after a crash.
    public let bytesReceived: Int64?
    /// The size of the whole file in bytes; `nil` if the server has not said it.
    public let expectedBytes: Int64?
    let fields: HTTPFields
    /// The value of `If-Range`.
    let validator: String
    /// The name of the partial file, without its folder.
    let partialName: String
    /// The name of the complete file, without its folder. The name of the partial file has only its beginning.
    let finalName: String

    init(
        _ request: Request, validator: String, partialName: String, finalName: String, bytesReceived: Int64?, expectedBytes: Int64?
    ) {
        url = request.url.withoutCredentials
        fields = HTTPFields(request.fields.filter { !Self.omittedFields.contains($0.name) })
        (self.validator, self.partialName, self.finalName) = (validator, partialName, finalName)
        (self.bytesReceived, self.expectedBytes) = (bytesReceived, expectedBytes)
    }

    func with(_ bytesReceived: Int64, of expectedBytes: Int64?) -> ResumeData {
        ResumeData(
            request, validator: validator, partialName: partialName, finalName: finalName, bytesReceived: bytesReceived,
            expectedBytes: expectedBytes)
    }

    static let omittedFields: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie, .range, .ifRange]

    /// The request of the download, with the default time limits and policies. Add what the request needs in addition,
    /// such as credentials.
    public var request: Request {
        var request = Request(url: url)
        request.fields = fields
        return request
    }

    /// The resume data of a download to this path that was interrupted: the program was killed, or the machine has
    /// crashed. `nil` if there is no such download that can be continued.
    ///
    /// If there are several, the one that was started last.
    ///
    /// - Parameter path: the path of the destination, as of ``DownloadDestination/file(_:existingFile:partialFile:)``.
    public init?(interruptedDownloadTo path: String) {
        guard let data = DownloadRecord.latest(beside: path) else { return nil }
        self = data
    }

    /// Removes the partial file and its record. The data can't be used any more.
    ///
    /// - Parameter destination: the destination of the download.
    public func discard(from destination: DownloadDestination) {
        guard let path = destination.path(for: self) else { return }
        // The partial file of a link is beside the link's target. `try?` because the path itself is the next guess.
        let target = destination.existingFile == .replace ? (try? FileSystem.destination(of: path)) ?? path : path
        // `.renames` because it does not matter what has the final name. `try?` because then nothing is left to remove.
        guard let file = try? PartialFile(continuing: self, for: target, collision: .renames) else { return }
        file.discard()
        DownloadRecord.remove(ofFileAt: file.path)
        file.close()
    }
}

extension ResumeData: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, url, fields, validator, partialName, finalName, bytesReceived, expectedBytes
    }

    /// Version 1 has no `finalName`.
    private static let version = 2
    /// In bytes, except `fields`, which is the number of fields. Servers do not accept more.
    private static let limits = (url: 64 << 10, fields: 256, fieldBytes: 64 << 10, validator: 1 << 10)

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(url.string, forKey: .url)
        try container.encode(fields.map { [$0.name.rawName, $0.value] }, forKey: .fields)
        try container.encode(validator, forKey: .validator)
        try container.encode(partialName, forKey: .partialName)
        try container.encode(finalName, forKey: .finalName)
        try container.encodeIfPresent(bytesReceived, forKey: .bytesReceived)
        try container.encodeIfPresent(expectedBytes, forKey: .expectedBytes)
    }

    /// - Throws: `DecodingError` if the data is damaged or has another version.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func check(_ isValid: Bool, _ key: CodingKeys, _ problem: String) throws {
            if !isValid { throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: problem) }
        }
        let version = try container.decode(Int.self, forKey: .version)
        try check(
            (1...Self.version).contains(version), .version,
            "resume data of version \(version); this program reads versions 1 to \(Self.version)")
        let text = try container.decode(String.self, forKey: .url)
        try check(text.utf8.count <= Self.limits.url, .url, "the URL is longer than \(Self.limits.url) bytes")
        // `try?` because the check below has a better message.
        let parsed = try? URLRecord(parsing: text)
        guard let parsed else { throw DecodingError.dataCorruptedError(forKey: .url, in: container, debugDescription: "not a URL") }
        url = parsed.withoutCredentials
        let lines = try container.decode([[String]].self, forKey: .fields)
        let size = lines.reduce(0) { $0 + $1.reduce(0) { $0 + $1.utf8.count } }
        try check(lines.count <= Self.limits.fields && size <= Self.limits.fieldBytes, .fields, "too many header fields")
        var fields = HTTPFields()
        for line in lines {
            guard line.count == 2, let name = HTTPField.Name(line[0]), HTTPField.isValidValue(line[1]), !Self.omittedFields.contains(name)
            else { throw DecodingError.dataCorruptedError(forKey: .fields, in: container, debugDescription: "not a header field") }
            fields.append(HTTPField(name: name, value: line[1]))
        }
        self.fields = fields
        validator = try container.decode(String.self, forKey: .validator)
        try check(
            !validator.isEmpty && validator.utf8.count <= Self.limits.validator && HTTPField.isValidValue(validator), .validator,
            "not a validator")
        func name(_ key: CodingKeys) throws -> String {
            let name = try container.decode(String.self, forKey: key)
            try check(name.utf8.count <= 255 && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }, key, "not the name of a file")
            return name
        }
        partialName = try name(.partialName)
        finalName = version == 1 ? PartialFile.finalName(ofTemporaryName: partialName) : try name(.finalName)
        bytesReceived = try container.decodeIfPresent(Int64.self, forKey: .bytesReceived)
        expectedBytes = try container.decodeIfPresent(Int64.self, forKey: .expectedBytes)
        try check(bytesReceived ?? 0 >= 0, .bytesReceived, "a negative number of bytes")
        try check(expectedBytes ?? .max >= bytesReceived ?? 0, .expectedBytes, "fewer bytes than were received")
    }
}

extension PartialFile {
    /// Opens the partial file of resume data.
    init(continuing data: ResumeData, for target: String, collision: Collision) throws(LoadError) {
        try self.init(continuing: data.partialName, for: target, collision: collision)
        guard FileSystem.split(finalPath).name.utf8.elementsEqual(data.finalName.utf8) else {
            close()
            throw LoadError(.badRequest, message: "the resume data is for the file \(QuotedText(data.finalName)), and not for '\(target)'")
        }
    }
}

extension LoadError {
    /// The data with which the failed download can be continued; `nil` if the load was not a download, or if the
    /// download can't be continued.
    public var resumeData: ResumeData? { anyResumeData as? ResumeData }

    func with(_ resumeData: ResumeData?) -> LoadError {
        var error = self
        error.anyResumeData = resumeData
        return error
    }
}
