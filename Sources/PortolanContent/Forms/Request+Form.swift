// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import PortolanCore

extension Request {
    /// Makes a request that submits a form with the encoding `application/x-www-form-urlencoded`.
    ///
    /// - Throws: `LoadError.Code.badURL` if the text is not an absolute URL.
    public init(
        _ text: String, method: HTTPRequest.Method = .post, fields: HTTPFields = HTTPFields(), form: URLEncodedForm
    ) throws(LoadError) {
        try self.init(text, method: method, fields: fields)
        setForm(form)
    }

    /// Makes a request that submits a form with the encoding `multipart/form-data`.
    ///
    /// - Throws: `LoadError.Code.badURL` if the text is not an absolute URL.
    public init(
        _ text: String, method: HTTPRequest.Method = .post, fields: HTTPFields = HTTPFields(), form: MultipartForm
    ) throws(LoadError) {
        try self.init(text, method: method, fields: fields)
        setForm(form)
    }

    /// Sets the body, and the field `Content-Type`. Does not change the method.
    public mutating func setForm(_ form: URLEncodedForm) {
        body = form.body
        fields[.contentType] = MIMEType.urlEncodedForm.description
    }

    /// Sets the body, and the field `Content-Type`. Does not change the method.
    public mutating func setForm(_ form: MultipartForm) {
        body = form.body
        fields[.contentType] = form.contentType
    }
}
