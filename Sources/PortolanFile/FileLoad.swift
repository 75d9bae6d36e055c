// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCore
import Synchronization

/// One load of a `file:` URL: reads on a thread that may block, piece by piece, as fast as the client takes them.
///
/// While the client pauses the load, only the open file is held: a resume takes a thread and a buffer again. The three calls are put in turn
/// by ``SerialCalls``, so a resume that overtakes the pause it answers is carried out by the thread that is still reading.
final class FileLoad: StallExplaining {
    private let request: Request
    private let client: any ProtocolClient
    private let threads: LoadThreadPool
    private let types: MIMETypeDatabase
    private let calls = SerialCalls()
    /// What goes on at the next resume; changed in a turn only.
    private let transfer = Mutex<FileTransfer?>(nil)
    /// Read between two pieces, so that no further piece is read once the load was stopped.
    private let isStopped = Atomic(false)
    private let waitsForThread = Atomic(false)
    /// Why no thread could be had for a turn.
    private let refusal = Mutex<LoadError?>(nil)

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
            refusal.withLock { $0 = error }
            calls.submit(call, perform: perform)
        }
    }

    var stallReason: String? {
        guard waitsForThread.load(ordering: .relaxed), threads.isExhausted else { return nil }
        return "all \(threads.limit) threads for files are in loads that have not ended, or in delegates that have not returned; "
            + "have delegates that block called on DeliveryQueue.background"
    }

    private func perform(_ call: SerialCalls.Call) {
        var held = transfer.withLock { $0.take() }
        if isStopped.load(ordering: .acquiring) { return }
        if let error = refusal.withLock({ $0 }) {
            held = nil
            return client.didFail(with: error)
        }
        do throws(LoadError) {
            if call == .start { return try start() }
            if let transfer = held.take() { try proceed(transfer) }
        } catch {
            client.didFail(with: error)
        }
    }

    private func start() throws(LoadError) {
        let file = try RegularFile(at: LocalPath(fileURL: request.url))
        let selection = try FileSelection(of: file, for: request)
        let response = selection.response(to: request, type: types.mimeType(ofFileNamed: file.path.lastComponent) ?? .octetStream)
        let transfer = FileTransfer(file, range: request.method == .head ? 0..<0 : selection.range)
        try proceed(transfer, after: client.didReceive(response, storage: .notAllowed))
    }

    /// Delivers pieces until the client pauses or stops the load, or all are delivered.
    private func proceed(_ transfer: consuming FileTransfer, after answer: Flow = .keepGoing) throws(LoadError) {
        var answer = answer
        var buffer = PieceBuffer(forLength: transfer.remaining)
        while true {
            switch answer {
            case .stopped: return
            case .pause:
                var paused = Optional(transfer)
                return self.transfer.withLock { $0 = paused.take() }
            case .keepGoing: break
            }
            if isStopped.load(ordering: .acquiring) { return }
            guard let next = try transfer.deliverPiece(in: &buffer, to: client) else { break }
            answer = next
        }
        // The descriptor goes before the client hears of the end.
        _ = consume transfer
        client.didFinishLoading()
    }
}
