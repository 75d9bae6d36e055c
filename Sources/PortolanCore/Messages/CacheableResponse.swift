// SPDX-License-Identifier: Apache-2.0

/// A response that the loader's cache is about to store. The delegate can change what is stored.
///
///     func loadTask(
///         _ task: LoadTask, willCache response: CacheableResponse,
///         decide: @escaping @Sendable (CacheableResponse?) -> Void
///     ) {
///         var response = response
///         response.storagePolicy = .allowedInMemoryOnly
///         response.userInfo["origin"] = "search"
///         decide(response)
///     }
public struct CacheableResponse: Sendable {
    /// The response without its body. The fields of the stored response can be changed, also `Cache-Control` and
    /// `Vary`: the rules of RFC 9111 apply to the changed fields. A change of `Content-Encoding`, `Content-Length` or
    /// `Content-Range`, which describe the octets, has no effect, and neither has a change of the URL or the status.
    public var response: Response
    /// Whether the response may be stored where it outlives the process. `.notAllowed` stores nothing.
    public var storagePolicy: CacheStoragePolicy
    /// Texts that ``Response/cacheUserInfo`` returns when the stored response answers a request.
    public var userInfo: [String: String] = [:]

    package init(_ response: Response, storagePolicy: CacheStoragePolicy) {
        (self.response, self.storagePolicy) = (response, storagePolicy)
    }
}
