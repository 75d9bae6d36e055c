// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import PortolanCore

/// The error for a response with an error status, 400 or above (RFC 9110 §15.5, §15.6).
///
/// The load itself has succeeded: a response with an error status is an ordinary response, until it is validated.
///
///     do throws(StatusError) {
///         try response.validated(body: body)
///     } catch {
///         print(error.status, String(decoding: error.body, as: UTF8.self))
///     }
public struct StatusError: Error, Sendable, CustomStringConvertible {
    /// The largest number of bytes of ``body``: 64 KiB.
    public static let bodyLimit = 64 << 10

    public let status: HTTPResponse.Status
    public let response: Response
    /// The first bytes of the response's body, at most ``bodyLimit``.
    public let body: Data
    /// Whether ``body`` is the whole body.
    public let isBodyComplete: Bool

    /// Returns `nil` if the response has no error status.
    init?(_ response: Response, body: Data, isBodyComplete: Bool) {
        guard let status = response.status, status.code >= 400 else { return nil }
        self.status = status
        self.response = response
        // A copy: a slice would retain the whole body.
        self.body = Data([UInt8](body.prefix(Self.bodyLimit)))
        self.isBodyComplete = isBodyComplete && body.count <= Self.bodyLimit
    }

    /// The URL without its user information, and the status. The body is left out, because it can be of any kind.
    public var description: String { "the response for \(response.url) is \(status.code) \(status.reasonPhrase)" }
}

extension Response {
    /// Checks the status.
    ///
    /// - Parameter body: the body of the response, for the error.
    /// - Returns: the response itself.
    /// - Throws: ``StatusError`` if the status is 400 or above. A protocol without statuses has no error status.
    @discardableResult
    public func validated(body: Data = Data()) throws(StatusError) -> Response {
        if let error = StatusError(self, body: body, isBodyComplete: true) { throw error }
        return self
    }
}

extension ByteChunks {
    /// Checks the status of the response to which the body belongs.
    ///
    /// If it is an error status, reads the first bytes of the body for the error, and cancels the load. If the load
    /// fails during this read, the error has the bytes that have arrived.
    ///
    /// - Parameter response: the response that came with the sequence.
    /// - Returns: the sequence itself, of which nothing was read.
    /// - Throws: ``StatusError`` if the status is 400 or above.
    @discardableResult
    public func validated(for response: Response) async throws(StatusError) -> ByteChunks {
        guard let status = response.status, status.code >= 400 else { return self }
        var (body, isComplete) = (Data(), false)
        var iterator = makeAsyncIterator()
        do throws(LoadError) {
            while body.count <= StatusError.bodyLimit {
                guard let piece = try await iterator.next() else {
                    isComplete = true
                    break
                }
                body += piece
            }
        } catch {
            // The status is reported instead, with the part of the body that has arrived.
        }
        task.cancel()
        if let error = StatusError(response, body: body, isBodyComplete: isComplete) { throw error }
        return self
    }
}
