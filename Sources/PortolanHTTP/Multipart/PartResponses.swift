// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCoding
internal import PortolanCore

/// Makes the responses of a multipart body's parts.
///
/// A part has the URL and the status of the outer response, and its fields except those that describe the content. A
/// part's own fields replace outer ones. Only the first part has the outer Set-Cookie. If each image of a camera had
/// it, it would overwrite cookies that another load set meanwhile.
struct PartResponses {
    private let outer: Response
    private var shared: HTTPFields
    private(set) var hasMadeOne = false

    private static let ofContent: [HTTPField.Name] = [
        .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentLocation, .contentRange, .contentDisposition,
    ]

    init(outer: Response) {
        self.outer = outer
        shared = HTTPFields(outer.fields.filter { !Self.ofContent.contains($0.name) })
    }

    /// Makes the response of the next part.
    ///
    /// The expected length stays unknown even if a part has a Content-Length. In a multipart body the boundary delimits
    /// a part, and cameras count wrong. A load whose body differs from the expected length fails.
    ///
    /// - Parameter fields: the part's own fields.
    mutating func make(with fields: HTTPFields) -> Response {
        var merged = HTTPFields(shared.filter { !fields.contains($0.name) })
        merged.append(contentsOf: fields)
        var response = Response(
            url: outer.url, mimeType: MIMEType(extractedFrom: fields), status: outer.status, fields: merged)
        response.remainingContentCodings = fields.contentCodings
        if !hasMadeOne { shared[.setCookie] = nil }
        hasMadeOne = true
        return response
    }
}
