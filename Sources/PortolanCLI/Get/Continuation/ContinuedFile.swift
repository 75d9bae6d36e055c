// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Writes a body behind what an earlier load left in a file, and leaves there what came where this one breaks off, too.
///
/// What the bytes are of (``Continuation/validator(of:)``) is kept with the file, as an extended attribute, until it is whole; file systems
/// without them lose it, and then nobody notices that the resource was replaced meanwhile by another of the same length or longer.
final class ContinuedFile: BodyOutput {
    private enum State {
        case waiting
        case open(Descriptor, left: Int64?, size: Int64?)
        /// What comes is not written.
        case complete
    }

    /// A file that is continued, or begun.
    struct Place: Equatable {
        let path: String
        let followsLinks: Bool

        /// What the user has named.
        static func path(_ path: String) -> Place { Place(path: path, followsLinks: true) }

        /// A name from a URL: a regular file in the current folder, or nothing yet. No link leads out of the folder.
        static func named(_ name: String) throws(Failure) -> Place {
            let kind = FileSystem.isLink(name) ? "a symbolic link" : FileSystem.kind(at: name)?.otherThanRegular
            guard let kind else { return Place(path: name, followsLinks: false) }
            throw Failure(.writeFailed, "'\(name)' is \(kind), and -O goes on with a regular file alone; name one with -o")
        }
    }

    private let place: Place
    private var path: String { place.path }
    private let continuation: Continuation
    private let state = Mutex(State.waiting)

    init(_ place: Place, _ continuation: Continuation) {
        self.place = place
        self.continuation = continuation
    }

    var canStartAgain: Bool { true }

    func begin(_ response: Response) throws(Failure) {
        guard state.withLock({ if case .waiting = $0 { true } else { false } }) else { return }
        switch try continuation.judge(response) {
        case .complete: state.withLock { $0 = .complete }
        case .append(let count, let size):
            let file = try open()
            state.withLock { $0 = .open(file, left: count, size: size) }
        case .startOver:
            let file = try open()
            do throws(SystemError) {
                try FileSystem.truncate(file)
                try FileSystem.setAttribute(FileSystem.continuationAttribute, of: file, to: Continuation.validator(of: response))
            } catch {
                throw Failure(.writeFailed, "cannot write '\(path)': \(error)")
            }
            state.withLock { $0 = .open(file, left: nil, size: nil) }
        }
    }

    private func open() throws(Failure) -> Descriptor {
        let file: Descriptor
        do throws(SystemError) {
            file = try FileSystem.openForAppending(path, followsLinks: place.followsLinks)
        } catch {
            throw Failure(.writeFailed, "cannot write '\(path)': \(error)")
        }
        guard FileSystem.size(of: file) == continuation.offset else {
            throw Failure(.writeFailed, "'\(path)' has been changed by somebody else; try again")
        }
        return file
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        let count = Int64(bytes.byteCount)
        let (file, isTooMuch) = state.withLock { state -> (Descriptor?, Bool) in
            guard case .open(let file, let left, let size) = state else { return (nil, false) }
            guard let left else { return (file, false) }
            state = .open(file, left: left - count, size: size)
            return (file, left < count)
        }
        guard !isTooMuch else { throw Failure(.badResponse, "more bytes came for '\(path)' than the answer's Content-Range announced") }
        guard let file else { return }
        do throws(SystemError) {
            try file.write(all: bytes)
        } catch {
            throw Failure(.writeFailed, "writing '\(path)' failed: \(error)")
        }
    }

    func complete() throws(Failure) {
        guard case .open(let file, let left, let size) = state.withLock({ $0 }) else { return }
        state.withLock { $0 = .waiting }
        let written = FileSystem.size(of: file)
        if (left ?? 0) > 0 || (size ?? written) != written {
            throw Failure(
                .truncated,
                "'\(path)' has \(written ?? 0) bytes\(size.map { " of \($0)" } ?? "") now, and the server sent no more; try again")
        }
        do throws(SystemError) {
            try FileSystem.setAttribute(FileSystem.continuationAttribute, of: file, to: nil)
            try file.close()
        } catch {
            throw Failure(.writeFailed, "cannot write '\(path)': \(error)")
        }
    }

    /// What came stays, to be continued; the descriptor is left to the end of the program, for a write may still hang in it.
    func abandon() {}
}
