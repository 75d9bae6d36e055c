// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanFileSystem
import Synchronization

/// Appends a body to the file of an earlier load. If this load fails, too, its bytes stay in the file.
///
/// Until the file is complete, an extended attribute stores the validator of the resource (``Resume/validator(of:)``).
/// On a file system without extended attributes, the load cannot detect that the resource has changed, unless the
/// resource has become shorter.
final class ResumedFile: BodyOutput {
    private enum State {
        case waitingForResponse
        /// - Parameters:
        ///   - remainingLength: the number of bytes that must still arrive; `nil` if unknown.
        ///   - size: the size of the complete resource; `nil` if unknown.
        case open(Descriptor, remainingLength: Int64?, size: Int64?)
        /// The file is complete, so the body is ignored.
        case complete
    }

    /// The place of a file to resume or to create.
    struct Place: Equatable {
        let path: String
        let followsLinks: Bool

        /// A path from the user.
        static func path(_ path: String) -> Place { Place(path: path, followsLinks: true) }

        /// A path whose last part is from a URL, for a regular file that can be missing. Symbolic links are rejected,
        /// because they can lead out of the folder.
        static func named(_ name: String) throws(Failure) -> Place {
            let kind = FileSystem.isLink(name) ? "a symbolic link" : FileSystem.kind(at: name)?.descriptionUnlessRegular
            guard let kind else { return Place(path: name, followsLinks: false) }
            throw Failure(.writeFailed, "'\(name)' is \(kind), and -O continues only regular files; name one with -o")
        }
    }

    private let place: Place
    private let resume: Resume
    private let state = Mutex(State.waitingForResponse)

    init(_ place: Place, _ resume: Resume) {
        self.place = place
        self.resume = resume
    }

    var path: String? { place.path }
    /// With a gap, the length of the file does not show where the next attempt continues.
    var canStartAgain: Bool { resume.gap == 0 || state.withLock { if case .open = $0 { false } else { true } } }
    var needsNoBody: Bool { state.withLock { if case .complete = $0 { true } else { false } } }

    func checksStatus(of response: Response) -> Bool { resume.gap == 0 || resume.isUnsatisfied(by: response) }

    func begin(_ response: Response) throws(Failure) {
        guard state.withLock({ if case .waitingForResponse = $0 { true } else { false } }) else { return }
        switch try resume.evaluate(response) {
        case .complete: state.withLock { $0 = .complete }
        case .append(let count, let size):
            let file = try open()
            state.withLock { $0 = .open(file, remainingLength: count, size: size) }
        case .startOver:
            let file = try open()
            do throws(SystemError) {
                try FileSystem.truncate(file)
                try FileSystem.setAttribute(FileSystem.continuationAttribute, of: file, to: Resume.validator(of: response))
            } catch {
                throw Failure(.writeFailed, "cannot write '\(place.path)': \(error)")
            }
            state.withLock { $0 = .open(file, remainingLength: nil, size: nil) }
        }
    }

    private func open() throws(Failure) -> Descriptor {
        let file: Descriptor
        do throws(SystemError) {
            file = try FileSystem.openForAppending(place.path, followsLinks: place.followsLinks)
        } catch {
            throw Failure(.writeFailed, "cannot write '\(place.path)': \(error)")
        }
        guard FileSystem.size(of: file) == resume.offset - resume.gap else {
            throw Failure(.writeFailed, "another process has changed '\(place.path)'; try again")
        }
        return file
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        let count = Int64(bytes.byteCount)
        let (file, exceedsContentRange) = state.withLock { state -> (Descriptor?, Bool) in
            guard case .open(let file, let remainingLength, let size) = state else { return (nil, false) }
            guard let remainingLength else { return (file, false) }
            state = .open(file, remainingLength: remainingLength - count, size: size)
            return (file, remainingLength < count)
        }
        guard !exceedsContentRange else {
            throw Failure(.badResponse, "more bytes came for '\(place.path)' than the response's Content-Range announced")
        }
        guard let file else { return }
        do throws(SystemError) {
            try file.write(all: bytes)
        } catch {
            throw Failure(.writeFailed, "writing '\(place.path)' failed: \(error)")
        }
    }

    func complete() throws(Failure) {
        guard case .open(let file, let remainingLength, let size) = state.withLock({ $0 }) else { return }
        state.withLock { $0 = .waitingForResponse }
        let written = FileSystem.size(of: file)
        if (remainingLength ?? 0) > 0 || size.map({ $0 - resume.gap }) ?? written != written {
            throw Failure(
                .truncated,
                "'\(place.path)' has \(written ?? 0) bytes\(size.map { " of \($0)" } ?? "") now, and the server sent no more; try again")
        }
        do throws(SystemError) {
            try FileSystem.setAttribute(FileSystem.continuationAttribute, of: file, to: nil)
            try file.close()
        } catch {
            throw Failure(.writeFailed, "cannot write '\(place.path)': \(error)")
        }
    }

    /// Does nothing. The received bytes stay in the file, so that another load can continue. The descriptor stays open
    /// until the program ends, because a write can still block on it.
    func abandon() {}
}
