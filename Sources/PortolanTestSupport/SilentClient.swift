// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// Replaces the client of a load after the client was released. Ignores all events.
final class SilentClient: ProtocolClient {
    static let shared = SilentClient()

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow { .stopped }
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {}
    func didReceiveInterim(_ response: Response) {}
    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow { .stopped }
    func didLoad(_ bytes: borrowing RawSpan) -> Flow { .stopped }
    func didReceiveTrailers(_ fields: HTTPFields) {}
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {}
    func didReach(_ step: LoadStep) {}
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) { answer(nil) }
    func didReceive(_ challenge: AuthenticationChallenge) { challenge.answer(.cancel) }
    func didCancel(_ challenge: AuthenticationChallenge) {}
    func didFinishLoading() {}
    func didFail(with error: LoadError) {}
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.cancelled, message: "the parent load has ended"), client: client)
    }
}
