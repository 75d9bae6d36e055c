// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanFileSystem
import Synchronization

/// Writes each part of a body when it arrives, without a copy: to standard output, another descriptor, a FIFO or a
/// device.
final class StreamOutput: BodyOutput {
    let path: String?
    private let name: String
    private let target: StreamTarget
    private let closesWhenComplete: Bool
    /// `nil` until the response arrives, unless the target is an open descriptor.
    private let descriptor: Mutex<Descriptor?>
    private let hasWritten = Atomic(false)

    static func standardOutput() -> StreamOutput {
        StreamOutput(name: "standard output", .descriptor(.standardOutput), closesWhenComplete: false)
    }

    /// - Parameter path: the path of the target.
    convenience init(path: String, _ target: StreamTarget) {
        self.init(path: path, name: "'\(path)'", target, closesWhenComplete: true)
    }

    private init(path: String? = nil, name: String, _ target: StreamTarget, closesWhenComplete: Bool) {
        (self.path, self.name, self.target, self.closesWhenComplete) = (path, name, target, closesWhenComplete)
        descriptor = if case .descriptor(let open) = target { Mutex(open) } else { Mutex(nil) }
    }

    var isTerminal: Bool { descriptor.withLock { $0 }?.isTerminal ?? false }

    var canStartAgain: Bool { !hasWritten.load(ordering: .relaxed) }

    func begin(_ response: Response) throws(Failure) {
        guard descriptor.withLock({ $0 == nil }) else { return }
        do throws(SystemError) {
            let opened = try target.open()
            descriptor.withLock { $0 = opened }
        } catch {
            throw Failure(.writeFailed, "cannot write to \(name): \(error)")
        }
    }

    func beginHeads(of response: Response) throws(Failure) -> Bool {
        try begin(response)
        return true
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        guard let descriptor = descriptor.withLock({ $0 }) else { return }
        if bytes.byteCount > 0 { hasWritten.store(true, ordering: .relaxed) }
        do throws(SystemError) {
            try descriptor.write(all: bytes)
        } catch {
            throw Failure(writing: name, error)
        }
    }

    func complete() throws(Failure) {
        guard closesWhenComplete, let open = descriptor.withLock({ $0 }) else { return }
        descriptor.withLock { $0 = nil }
        do throws(SystemError) {
            try open.close()
        } catch {
            throw Failure(writing: name, error)
        }
    }

    /// Does nothing, because the reader already has the bytes. The descriptor stays open until the program ends,
    /// because a write can still block on it.
    func abandon() {}
}
