// SPDX-License-Identifier: Apache-2.0

import CTally
import Portolan
import Synchronization

/// Consumes the borrowed bytes of a load without copying them.
@safe
final class TallyingDelegate: LoadDelegate, @unchecked Sendable {  // … because the calls for a load are serial
    /// A pointer, as in the C peers. A stored property would add the cost of an exclusivity check, which is not a cost
    /// of the loader.
    private let tally: UnsafeMutablePointer<bench_tally>
    private let continuation: CheckedContinuation<bench_tally, any Error>

    private init(_ continuation: CheckedContinuation<bench_tally, any Error>) {
        unsafe tally = .allocate(capacity: 1)
        unsafe tally.initialize(to: bench_tally())
        self.continuation = continuation
    }

    deinit { unsafe tally.deallocate() }

    /// Loads `request`, and returns the tally of its body.
    static func load(_ request: Request, with loader: Loader) async throws -> bench_tally {
        try await withCheckedThrowingContinuation { continuation in
            loader.task(for: request, delegate: TallyingDelegate(continuation)).resume()
        }
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        unsafe bytes.withUnsafeBytes { unsafe bench_tally_add(tally, $0.baseAddress, $0.count) }
        return .keepGoing
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: unsafe tally.pointee) }
    }
}
