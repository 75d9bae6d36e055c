// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The files that this process has opened as libraries, and the names under which it opened them.
///
/// `dlopen(3)` never opens a file twice. If it knows the name or the inode, it returns the library that is already
/// open, even if the file has changed. Therefore, a file that has replaced another one is opened under another spelling
/// of its name. A file that was overwritten has the same inode, so it can only be opened as a copy.
final class LibraryNames: Sendable {
    static let shared = LibraryNames()

    enum Reservation: Equatable {
        /// Open the file under this name: the path, or another spelling of it.
        case name(String)
        /// The file was overwritten after it was opened.
        case needsCopy
    }

    private struct File: Hashable {
        let device, inode: UInt64

        init(_ identity: FileStatus.Identity) {
            (device, inode) = (identity.device, identity.inode)
        }
    }

    private struct State {
        var names: Set<String> = []
        var files: [File: (name: String, identity: FileStatus.Identity)] = [:]
        var spellingCount: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Returns how to open the current file at `path`, and reserves its name.
    ///
    /// - Parameter path: contains a slash.
    func reserveName(for path: String, _ identity: FileStatus.Identity) -> Reservation {
        state.withLock { state in
            if let openedFile = state.files[File(identity)] {
                return openedFile.identity == identity ? .name(openedFile.name) : .needsCopy
            }
            var name = path
            while !state.names.insert(name).inserted {
                state.spellingCount += 1
                name = Self.spelling(state.spellingCount, of: path)
            }
            state.files[File(identity)] = (name, identity)
            return .name(name)
        }
    }

    /// Called if the file could not be opened, or if another file was opened. The next attempt then uses another name.
    func forget(_ identity: FileStatus.Identity) {
        state.withLock { _ = $0.files.removeValue(forKey: File(identity)) }
    }

    /// Returns another spelling of the path, with the same folder, so that the library finds the same files beside
    /// itself (`$ORIGIN`). Encodes the bits of `number` after the last slash: `./` for 1, and `/` for 0.
    static func spelling(_ number: UInt64, of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        let digits = (0..<UInt64.bitWidth - number.leadingZeroBitCount).map { number >> $0 & 1 == 1 ? "./" : "/" }
        return path[...slash] + digits.joined() + path[path.utf8.index(after: slash)...]
    }
}
