// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCoding
internal import PortolanCore

/// Makes the responses for the parts of a multipart body.
///
/// The response of a part has the URL, the status and the fields of the outer response, except fields that describe the
/// content. The fields of the part replace outer fields with the same name. Only the first part has the outer
/// Set-Cookie. Otherwise each image of a camera would overwrite cookies that other loads have set in the meantime.
struct PartResponses {
    private let outerResponse: Response
    /// The fields of the outer response that the responses of the parts have, too.
    private var sharedFields: HTTPFields
    private(set) var hasMadeResponse = false

    private static let contentFieldNames: [HTTPField.Name] = [
        .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentLocation, .contentRange, .contentDisposition,
    ]

    init(outer: Response) {
        outerResponse = outer
        sharedFields = HTTPFields(outer.fields.filter { !Self.contentFieldNames.contains($0.name) })
    }

    /// Makes the response of the next part.
    ///
    /// The expected length is unknown even if the part has a Content-Length. The boundary ends a part, and the lengths
    /// of some cameras are wrong. If a body differed from the expected length, the load would fail.
    ///
    /// - Parameter fields: the fields of the part.
    mutating func make(with fields: HTTPFields) -> Response {
        var merged = HTTPFields(sharedFields.filter { !fields.contains($0.name) })
        merged.append(contentsOf: fields)
        var response = Response(
            url: outerResponse.url, mimeType: MIMEType(extractedFrom: fields), status: outerResponse.status, fields: merged)
        response.remainingContentCodings = fields.contentCodings
        response.isBodyPart = true
        if !hasMadeResponse { sharedFields[.setCookie] = nil }
        hasMadeResponse = true
        return response
    }
}
