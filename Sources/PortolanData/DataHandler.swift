// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Serves `data:` URLs, as the WHATWG Fetch Standard's "data: URL processor" says.
///
/// The load ends inside its start, on the caller's thread, unless its client pauses it. A malformed URL fails with ``LoadError/Code/badURL``
/// before any byte is delivered. The method does not matter, but that HEAD has no body; status is 200, as Fetch has it.
public struct DataHandler: ProtocolHandler {
    public let identifier = "org.portolan.data"
    public let schemes = SchemeSet.only(["data"])

    public init() {}

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        DataLoad(request, client: client)
    }
}
