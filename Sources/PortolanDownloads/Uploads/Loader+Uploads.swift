// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import PortolanCore

extension Loader {
    /// Sends a request with a body, and continues the upload after an interruption if the server supports that.
    ///
    ///     let request = try Request("https://example.org/files", method: .post, body: .file(path: "/srv/film.mp4"))
    ///     let (body, response) = try await loader.upload(for: request)
    ///
    /// A server that supports resumable uploads sends the URL of the upload in an interim response (104). If the
    /// connection is lost, or the server responds with a 5xx, the loader asks there how many bytes have arrived, and
    /// sends the rest, in parts of the size that the server allows. Credentials go to that URL only if it has the
    /// origin of the request. With other servers, this is a load like ``data(for:delegate:)``: it begins again only as
    /// `configuration.retries` says. The same holds for a body without a length, or one that can be read only once.
    ///
    /// The body must not change meanwhile. If the response of the last part was lost, the result is the response that
    /// says that the upload is complete.
    ///
    /// - Parameters:
    ///   - request: a request with a body, by `http:` or `https:`.
    ///   - retries: how often, and after which errors and statuses, the upload is continued. Bytes that have arrived
    ///     since the last interruption start the count again. Methods that are not idempotent are included.
    ///   - delegate: as for ``data(for:delegate:)``, for each of the requests.
    /// - Returns: the last response and its body.
    /// - Throws: ``LoadError/Code/badResponse`` if the server contradicts itself about the upload;
    ///   ``LoadError/Code/limitExceeded`` if the body is larger than the server allows; otherwise the error of the last
    ///   request.
    ///
    /// draft-ietf-httpbis-resumable-upload-12
    public func upload(
        for request: Request, retries: RetryPolicy = RetryPolicy(limit: 5), delegate: (any LoadDelegate)? = nil
    ) async throws(LoadError) -> (Data, Response) {
        guard var upload = ResumableUpload(request, by: self, retries, delegate) else {
            return try await data(for: request, delegate: delegate)
        }
        return try await upload.run()
    }
}
