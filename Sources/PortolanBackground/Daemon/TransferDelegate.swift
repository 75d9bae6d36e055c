// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes
    import PortolanCore
    import PortolanDownloads
    import PortolanFileSystem
    import Synchronization

    /// Reports the events of one attempt to the queue, and answers a challenge with the password of the transfer.
    final class TransferDelegate: DownloadObserver {
        private struct State {
            var response: Response?
            var file: DownloadedFile?
            var wasRedirected = false
        }

        private let queue: TransferQueue
        private let id: Int64
        private let task: TransferDescription
        private let state = Mutex(State())

        init(_ queue: TransferQueue, _ id: Int64, _ task: TransferDescription) {
            (self.queue, self.id, self.task) = (queue, id, task)
        }

        func loadTask(_ load: LoadTask, didReceive challenge: AuthenticationChallenge) {
            guard let user = task.user, case .password = challenge.protectionSpace.kind, challenge.previousFailureCount == 0,
                challenge.protectionSpace.isOrigin(of: load.originalRequest.url)
            else { return challenge.answer(.performDefault) }
            challenge.answer(.use(.password(user: user, password: task.password ?? "")))
        }

        func loadTask(
            _ load: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
        ) {
            state.withLock { $0.wasRedirected = true }
            decide(.follow(request))
        }

        /// Only for uploads whose response is not written.
        func loadTask(_ load: LoadTask, didReceive response: Response) -> Flow {
            state.withLock { $0.response = response }
            return .keepGoing
        }

        func downloadDidReceiveErrorResponse(_ response: Response) { state.withLock { $0.response = response } }

        func downloadWillRename(_ file: PartialFile) {
            if !file.replacesFile, let mask = task.umask {
                // `try?` because the file then stays private.
                try? FileSystem.setMode(0o666 & ~mask, of: file.descriptor)
            }
            guard let identity = FileIdentity(of: file.descriptor) else { return }
            queue.transferWillRename(id, identity)
        }

        func loadTask(_ load: LoadTask, didDownloadTo file: DownloadedFile) {
            state.withLock { ($0.file, $0.response) = (file, file.response) }
        }

        func loadTask(_ load: LoadTask, didEndWith error: LoadError?) {
            let state = state.withLock { $0 }
            queue.transferDidEnd(
                id, error ?? statusError(state.response), state.file, state.response, wasRedirected: state.wasRedirected)
        }

        /// The error for a response that says that the upload has failed; `nil` for others.
        private func statusError(_ response: Response?) -> LoadError? {
            guard task.kind == .upload, let status = response?.status, !(200..<300).contains(status.code) else { return nil }
            return LoadError(.init(ofRefusal: status.code), message: "the server has answered \(status.code) \(status.reasonPhrase)")
        }
    }
#endif
