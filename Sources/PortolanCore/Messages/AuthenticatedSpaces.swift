// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The protection spaces in which loads have authenticated. The next loads in such a space send the credential without
/// a challenge. A load outside of the space never sends it.
///
/// A handler adds and removes spaces; the loader finds the space of a request.
package final class AuthenticatedSpaces: Sendable {
    package struct Entry: Sendable {
        package let space: ProtectionSpace
        /// The credential that the server has accepted.
        package let credential: Credential
        /// What the handler needs to send the credential again.
        package let state: any AnyObject & Sendable
        /// A URL of the server.
        fileprivate let server: URLRecord
        fileprivate var paths: [String]

        /// - Parameters:
        ///   - server: a URL with the scheme, host and port of the space.
        ///   - paths: the paths of the space. A path applies to itself and to the paths below it.
        package init(
            _ space: ProtectionSpace, credential: Credential, server: URLRecord, paths: [String], state: any AnyObject & Sendable
        ) {
            (self.space, self.credential, self.state) = (space, credential, state)
            (self.server, self.paths) = (server, paths)
        }

        package func covers(_ url: URLRecord) -> Bool { coveringPathLength(url) != nil }

        /// The length, in bytes, of the longest path of the space that contains the URL's path; `nil` if it is outside
        /// of the space.
        fileprivate func coveringPathLength(_ url: URLRecord) -> Int? {
            guard url.hasSameOrigin(as: server) else { return nil }
            let path = url.path.isEmpty ? "/" : url.path
            return paths.filter { Self.isBelow(path, $0) }.map(\.utf8.count).max()
        }

        fileprivate var sendsPassword: Bool { space.kind == .password(scheme: "basic") }

        private static func isBelow(_ path: Substring, _ prefix: String) -> Bool {
            guard path.hasPrefix(prefix) else { return false }
            return prefix.hasSuffix("/") || path.utf8.count == prefix.utf8.count
                || path.utf8.dropFirst(prefix.utf8.count).first == UInt8(ascii: "/")
        }

        fileprivate func isSameSpace(as other: Entry) -> Bool {
            space.kind == other.space.kind && space.realm.map(OctetText.init) == other.space.realm.map(OctetText.init)
                && server.hasSameOrigin(as: other.server)
        }
    }

    /// A space that contains a URL, and the collection to which the space belongs.
    package struct Match: Sendable {
        package let spaces: AuthenticatedSpaces
        package let entry: Entry
    }

    /// Passes a collection of spaces to the handler that sent a challenge. The content is set before the challenge is
    /// answered.
    package final class Slot: Sendable {
        private let spaces = Mutex<AuthenticatedSpaces?>(nil)

        package init() {}

        /// `nil` if the answer's credential is not kept.
        package var content: AuthenticatedSpaces? {
            get { spaces.withLock { $0 } }
            set { spaces.withLock { $0 = newValue } }
        }
    }

    /// The maximum number of spaces. The oldest spaces are removed first.
    private static let spaceLimit = 100
    /// The maximum number of paths of one space. Further paths are not added.
    private static let pathLimit = 100

    private let entries = Mutex<[Entry]>([])
    private let count = Atomic(0)

    package init() {}

    /// Returns the space that contains a URL; if there are several, the space with the longest path, and among equally
    /// long paths a space that does not send the password itself (Basic).
    package func match(for url: URLRecord) -> Match? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        let entry = entries.withLock { entries in
            var (best, bestLength): (Entry?, Int) = (nil, -1)
            for entry in entries {
                guard let length = entry.coveringPathLength(url),
                    length > bestLength || (length == bestLength && best?.sendsPassword == true && !entry.sendsPassword)
                else { continue }
                (best, bestLength) = (entry, length)
            }
            return best
        }
        return entry.map { Match(spaces: self, entry: $0) }
    }

    /// Adds a space, and replaces the space with the same server, scheme and realm. If both have the same credential,
    /// the new space also has the paths of the old one.
    package func add(_ entry: Entry) {
        change { entries in
            var entry = entry
            if let index = entries.firstIndex(where: { $0.isSameSpace(as: entry) }) {
                let old = entries.remove(at: index)
                if old.credential == entry.credential {
                    entry.paths = Array((old.paths + entry.paths.filter { !old.paths.contains($0) }).prefix(Self.pathLimit))
                }
            }
            entries.append(entry)
            if entries.count > Self.spaceLimit { entries.removeFirst() }
        }
    }

    /// Removes the space with this state, because the server has refused its credential.
    package func remove(_ state: AnyObject) { change { $0.removeAll { $0.state === state } } }

    /// Replaces the state of a space, if the collection still contains the space.
    package func replace(_ old: AnyObject, by new: any AnyObject & Sendable) {
        change { entries in
            guard let index = entries.firstIndex(where: { $0.state === old }) else { return }
            entries[index] = entries[index].with(new)
        }
    }

    package func removeAll() { change { $0 = [] } }

    private func change(_ body: (inout [Entry]) -> Void) {
        entries.withLock { entries in
            body(&entries)
            count.store(entries.count, ordering: .relaxed)
        }
    }
}

extension AuthenticatedSpaces.Entry {
    fileprivate func with(_ state: any AnyObject & Sendable) -> Self {
        Self(space, credential: credential, server: server, paths: paths, state: state)
    }
}
