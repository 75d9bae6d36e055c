// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Writes a body as it comes, without a copy: to standard output, a FIFO or a device.
final class StreamOutput: BodyOutput {
    private enum State {
        case closed
        case open(Descriptor)
    }

    private let name: String
    private let path: String?
    private let state: Mutex<State>
    private let hasWritten = Atomic(false)

    static func standardOutput() -> StreamOutput {
        StreamOutput(name: "standard output", path: nil, state: .open(.standardOutput))
    }

    /// - Parameter path: of a FIFO or device; opened when the response has come.
    convenience init(path: String) {
        self.init(name: "'\(path)'", path: path, state: .closed)
    }

    private init(name: String, path: String?, state: State) {
        self.name = name
        self.path = path
        self.state = Mutex(state)
    }

    var isTerminal: Bool {
        guard case .open(let descriptor) = state.withLock({ $0 }) else { return false }
        return descriptor.isTerminal
    }

    var canStartAgain: Bool { !hasWritten.load(ordering: .relaxed) }

    func begin(_ response: Response) throws(Failure) {
        guard case .closed = state.withLock({ $0 }), let path else { return }
        do throws(SystemError) {
            let descriptor = try FileSystem.openForWriting(path)
            state.withLock { $0 = .open(descriptor) }
        } catch {
            throw Failure(.writeFailed, "cannot write to \(name): \(error)")
        }
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        guard case .open(let descriptor) = state.withLock({ $0 }) else { return }
        if bytes.byteCount > 0 { hasWritten.store(true, ordering: .relaxed) }
        do throws(SystemError) {
            try descriptor.write(all: bytes)
        } catch {
            throw Failure(writing: name, error)
        }
    }

    func complete() throws(Failure) {
        guard path != nil, case .open(let descriptor) = state.withLock({ $0 }) else { return }
        state.withLock { $0 = .closed }
        do throws(SystemError) {
            try descriptor.close()
        } catch {
            throw Failure(writing: name, error)
        }
    }

    /// Bytes that went out cannot be taken back; the descriptor is left to the end of the program, for a write may still hang in it.
    func abandon() {}
}
