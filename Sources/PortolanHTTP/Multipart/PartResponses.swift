// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCoding
internal import PortolanCore

/// Makes the responses of a multipart body's parts.
///
/// A part has the outer response's URL and status, and its fields but for those that describe the content; a part's own fields take the
/// place of outer ones. The outer Set-Cookie comes with the first part only: with each image of a camera it would undo what another load
/// set meanwhile.
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

    /// - Parameter fields: the part's own.
    ///
    /// The expected length stays open though a part may say Content-Length: in a multipart body the boundary is the frame, cameras count
    /// wrong, and a load whose body differs from what was expected fails.
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
