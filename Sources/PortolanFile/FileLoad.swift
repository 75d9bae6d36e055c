// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCore
import Synchronization

/// One load of a `file:` URL. Reads piece by piece, on a thread that may block, as fast as the client accepts data.
///
/// A paused load holds only the open file. A resumed load needs a thread and a buffer again. ``SerialCalls`` serialises
/// the three calls. If the resume comes before the paused delivery has returned, the thread that is still reading
/// performs the resume.
final class FileLoad: StallExplaining {
    private let request: Request
    private let client: any ProtocolClient
    private let threads: LoadThreadPool
    private let types: MIMETypeDatabase
    private let calls = SerialCalls()
    /// The transfer that the next resume continues. Only the thread that performs a call changes it.
    private let transfer = Mutex<FileTransfer?>(nil)
    /// Checked between two pieces, so that no further piece is read after a stop.
    private let isStopped = Atomic(false)
    private let waitsForThread = Atomic(false)
    /// The reason why no thread was available for a call.
    private let threadError = Mutex<LoadError?>(nil)

    init(_ request: Request, client: any ProtocolClient, threads: LoadThreadPool, types: MIMETypeDatabase) {
        self.request = request
        self.client = client
        self.threads = threads
        self.types = types
    }

    func startLoading() { schedule(.start) }
    func resumeLoading() { schedule(.resume) }

    func stopLoading() {
        isStopped.store(true, ordering: .releasing)
        calls.submit(.stop, perform: perform)
    }

    private func schedule(_ call: SerialCalls.Call) {
        waitsForThread.store(true, ordering: .relaxed)
        do throws(LoadError) {
            try threads.run(isNested: request.nestingDepth > 0) { [self] in
                waitsForThread.store(false, ordering: .relaxed)
                calls.submit(call, perform: perform)
            }
        } catch {
            waitsForThread.store(false, ordering: .relaxed)
            threadError.withLock { $0 = error }
            calls.submit(call, perform: perform)
        }
    }

    var stallReason: String? {
        guard waitsForThread.load(ordering: .relaxed), threads.isExhausted else { return nil }
        return "all \(threads.limit) threads for files are busy with loads that have not ended, or with delegates that have not returned; "
            + "use DeliveryQueue.background for delegates that block"
    }

    private func perform(_ call: SerialCalls.Call) {
        var pausedTransfer = transfer.withLock { $0.take() }
        if isStopped.load(ordering: .acquiring) { return }
        if let error = threadError.withLock({ $0 }) {
            pausedTransfer = nil
            return client.didFail(with: error)
        }
        do throws(LoadError) {
            if call == .start { return try start() }
            if let transfer = pausedTransfer.take() { try deliverPieces(of: transfer) }
        } catch {
            client.didFail(with: error)
        }
    }

    private func start() throws(LoadError) {
        let file = try RegularFile(at: LocalPath(fileURL: request.url))
        let selection = try FileSelection(of: file, for: request)
        let response = selection.response(to: request, type: types.mimeType(ofFileNamed: file.path.lastComponent) ?? .octetStream)
        let transfer = FileTransfer(file, range: request.method == .head ? 0..<0 : selection.range)
        try deliverPieces(of: transfer, after: client.didReceive(response, storage: .notAllowed))
    }

    /// Delivers pieces until the client pauses or stops the load, or all bytes are delivered.
    private func deliverPieces(of transfer: consuming FileTransfer, after flow: Flow = .keepGoing) throws(LoadError) {
        var flow = flow
        var buffer = PieceBuffer(forLength: transfer.remaining)
        while true {
            switch flow {
            case .stopped: return
            case .pause:
                var paused = Optional(transfer)
                return self.transfer.withLock { $0 = paused.take() }
            case .keepGoing: break
            }
            if isStopped.load(ordering: .acquiring) { return }
            guard let next = try transfer.deliverPiece(in: &buffer, to: client) else { break }
            flow = next
        }
        // Close the descriptor before the client receives the end.
        _ = consume transfer
        client.didFinishLoading()
    }
}
