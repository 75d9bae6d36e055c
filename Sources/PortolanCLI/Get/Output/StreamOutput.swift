// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Writes a body as it arrives, without a copy, to standard output, another descriptor, a FIFO or a device.
final class StreamOutput: BodyOutput {
    private let name: String
    private let target: StreamTarget
    /// Whether the descriptor is closed after a complete body.
    private let closes: Bool
    /// `nil` before the response.
    private let descriptor: Mutex<Descriptor?>
    private let hasWritten = Atomic(false)

    static func standardOutput() -> StreamOutput {
        StreamOutput(name: "standard output", .descriptor(.standardOutput), closes: false)
    }

    /// - Parameter path: the path of the target, for messages.
    convenience init(path: String, _ target: StreamTarget) {
        self.init(name: "'\(path)'", target, closes: true)
    }

    private init(name: String, _ target: StreamTarget, closes: Bool) {
        (self.name, self.target, self.closes) = (name, target, closes)
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
        guard closes, let open = descriptor.withLock({ $0 }) else { return }
        descriptor.withLock { $0 = nil }
        do throws(SystemError) {
            try open.close()
        } catch {
            throw Failure(writing: name, error)
        }
    }

    /// Does nothing: bytes that went out cannot be taken back. The descriptor stays open until the program ends,
    /// because a write may still block on it.
    func abandon() {}
}
