// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The files that this process has opened as libraries, and the names under which it did.
///
/// The dynamic linker never looks at a file twice: a name that it knows, and an inode that it knows under any name, are the library that it has, whatever
/// the file holds now (`dlopen(3)`). So a file that has taken another's name is opened under another spelling of that name; and a file that was written
/// over, whose inode is the old one, can only be opened as a copy.
final class LibraryNames: Sendable {
    static let shared = LibraryNames()

    enum Way: Equatable {
        /// Open it under this name: the path, or another spelling of it.
        case name(String)
        /// It was changed since it was opened, and is the same file to the linker.
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

    /// How to open the file that is at `path` now. Its name is taken from here on.
    ///
    /// - Parameter path: with a slash.
    func way(to path: String, _ identity: FileStatus.Identity) -> Way {
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

    /// The file could not be opened, or another one was: what is at that path may be opened under another name.
    func forget(_ identity: FileStatus.Identity) {
        state.withLock { _ = $0.files.removeValue(forKey: File(identity)) }
    }

    /// Another name of the same file, in the same folder, so that what the library finds beside itself (`$ORIGIN`) is the same. No two numbers have one
    /// spelling: a one is `./` behind the last slash, a zero another slash.
    static func spelling(_ number: UInt64, of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        let digits = (0..<UInt64.bitWidth - number.leadingZeroBitCount).map { number >> $0 & 1 == 1 ? "./" : "/" }
        return path[...slash] + digits.joined() + path[path.utf8.index(after: slash)...]
    }
}
