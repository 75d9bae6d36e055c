// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The files that this process has opened as libraries, and the names under which it opened them.
///
/// The dynamic linker never opens a file twice (`dlopen(3)`). If it knows the name, or the inode under any name, it
/// returns the library that it has, whatever the file contains now. A file that has replaced another one is therefore
/// opened under another spelling of the name. A file that was overwritten keeps its inode, so it can only be opened as
/// a copy.
final class LibraryNames: Sendable {
    static let shared = LibraryNames()

    enum Reservation: Equatable {
        /// Open the file under this name: the path, or another spelling of it.
        case name(String)
        /// The file was changed since it was opened, but is the same file to the linker.
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
        var spellings: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Returns how to open the current file at `path`, and reserves its name.
    ///
    /// - Parameter path: contains a slash.
    func reserveName(for path: String, _ identity: FileStatus.Identity) -> Reservation {
        state.withLock { state in
            if let known = state.files[File(identity)] { return known.identity == identity ? .name(known.name) : .needsCopy }
            var name = path
            while !state.names.insert(name).inserted {
                state.spellings += 1
                name = Self.spelling(state.spellings, of: path)
            }
            state.files[File(identity)] = (name, identity)
            return .name(name)
        }
    }

    /// Called if the file could not be opened, or if another one was opened. The file at that path may then be opened
    /// under another name.
    func forget(_ identity: FileStatus.Identity) {
        state.withLock { _ = $0.files.removeValue(forKey: File(identity)) }
    }

    /// Another name of the same file in the same folder, so that the library finds the same files beside itself
    /// (`$ORIGIN`). Each number has its own spelling: a one is `./` after the last slash, a zero another slash.
    static func spelling(_ number: UInt64, of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        let digits = (0..<UInt64.bitWidth - number.leadingZeroBitCount).map { number >> $0 & 1 == 1 ? "./" : "/" }
        return path[...slash] + digits.joined() + path[path.utf8.index(after: slash)...]
    }
}
