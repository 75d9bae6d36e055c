// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanContent
import PortolanCore
import PortolanJSON

/// Reads the events of one URL, and writes each to standard output when it comes (`--sse`).
struct EventReader {
    let loader: Loader
    let isJSON: Bool
    /// The number of consecutive attempts without a response after which the command fails.
    let maximumFailureCount: Int

    /// Blocks until the server ends the stream with the status 204, or until the stream fails. If only a connection
    /// ends, a new one is made.
    ///
    /// If the program that reads the standard output stops reading, the task blocks, and the load pauses.
    func read(_ request: Request) throws(Failure) {
        let outcome = ConditionLock<Result<Void, Failure>?>(nil)
        Task {
            let result = await readAll(request)
            outcome.withLockBroadcasting { $0 = result }
        }
        try outcome.wait { $0 }.get()
    }

    private func readAll(_ request: Request) async -> Result<Void, Failure> {
        do {
            for try await event in loader.events(for: request, maximumFailureCount: maximumFailureCount) { try write(event) }
            return .success(())
        } catch let failure as Failure {
            return .failure(failure)
        } catch let error as LoadError {
            return .failure(Failure(error))
        } catch {
            return .failure(Failure(.httpError, "\(error)"))
        }
    }

    private func write(_ event: ServerSentEvent) throws(Failure) {
        guard isJSON else { return try StandardOutput.write(event.data + "\n") }
        try StandardOutput.write(["type": .string(event.type), "id": .string(event.id), "data": .string(event.data)] as JSONValue)
    }
}
