// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import PortolanCore

/// Loads `file:` URLs: regular files of this machine, read piece by piece and never held in memory as a whole.
///
/// GET delivers the file, HEAD its response alone. The response has no status; its fields are `Content-Type`, `Content-Length`,
/// `Last-Modified` and `Accept-Ranges`. A `Range` field with one range of bytes is served, and the response then says which with
/// `Content-Range`; several ranges in one field, other units and malformed values give the whole file (RFC 9110 §14.2). `If-Range` is
/// honoured with a date as `Last-Modified` gave it.
///
/// The host of the URL is empty, `localhost` or `localhost.`; its query and fragment are ignored, as browsers do. Symbolic links are followed. Directories,
/// FIFOs, sockets and devices are refused, and nothing ever waits on one. A file that shrinks while it is read fails the load with
/// ``LoadError/Code/truncated``; of one that grows, the length that was announced is delivered.
///
/// RFC 8089
public struct FileHandler: ProtocolHandler {
    private let threads: LoadThreadPool
    private let types: MIMETypeDatabase

    /// - Parameters:
    ///   - threads: where files are read. A load holds a thread only while the client takes what it delivers.
    ///   - types: what the names of files say of their contents.
    public init(threads: LoadThreadPool = .shared, types: MIMETypeDatabase = MIMETypeDatabase()) {
        self.threads = threads
        self.types = types
    }

    public var identifier: String { "org.portolan.file" }
    public var schemes: SchemeSet { .only(["file"]) }
    public var traits: HandlerTraits { [.blocking] }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        guard request.method == .get || request.method == .head else {
            let error = LoadError(
                .badRequest,
                message: "files are only read: method '\(request.method.rawValue)' is not served for '\(request.url)'; use GET or HEAD")
            return FailedLoad(error, client: client)
        }
        return FileLoad(request, client: client, threads: threads, types: types)
    }
}
