// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import PortolanCore

/// Loads `file:` URLs. Reads regular files of this machine piece by piece, and never buffers a whole file.
///
/// GET delivers the file, and HEAD only its response. The response has no status. Its fields are `Content-Type`,
/// `Content-Length`, `Last-Modified` and `Accept-Ranges`. A file whose size is not known, such as a file in /proc, has
/// no `Content-Length` and no `Accept-Ranges`; its `Range` is ignored, and it is delivered to its end.
///
/// A `Range` field with one range of bytes is served for GET, and `Content-Range` names that range in the response. A
/// range outside of the file fails the load with ``LoadError/Code/rangeNotSatisfiable``. Several ranges in one field,
/// other units and malformed values give the whole file (RFC 9110 §14.2). `If-Range` must be the same text as
/// `Last-Modified`; otherwise the whole file is delivered.
///
/// The host of the URL is empty, `localhost` or `localhost.`. The query and the fragment are ignored, as in browsers.
/// Symbolic links are followed. Directories, FIFOs, sockets and devices are refused, and the handler never waits on
/// one. A file that shrinks while it is read fails the load with ``LoadError/Code/truncated``. Of a file that grows,
/// only the announced length is delivered.
///
/// RFC 8089
public struct FileHandler: ProtocolHandler {
    private let threads: LoadThreadPool
    private let types: MIMETypeDatabase

    /// - Parameters:
    ///   - threads: the threads that read files. A load holds a thread only while the client accepts its data.
    ///   - types: maps file names to the types of their contents.
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
                message: "files can only be read: method '\(request.method.rawValue)' is not allowed for '\(request.url)'; use GET or HEAD")
            return FailedLoad(error, client: client)
        }
        return FileLoad(request, client: client, threads: threads, types: types)
    }
}
