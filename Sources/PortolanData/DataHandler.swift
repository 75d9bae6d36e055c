// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Serves `data:` URLs, as in the WHATWG Fetch Standard's "data: URL processor".
///
/// The load ends before `startLoading()` returns, on the caller's thread, unless its client pauses it. A malformed URL
/// fails with ``LoadError/Code/badURL`` before any byte is delivered. The method is ignored, except that HEAD has no
/// body. The status is 200, as in Fetch.
public struct DataHandler: ProtocolHandler {
    public let identifier = "org.portolan.data"
    public let schemes = SchemeSet.only(["data"])

    public init() {}

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        DataLoad(request, client: client)
    }
}
