// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

/// A path that names an open descriptor: `/dev/stdout`, `/dev/fd/3`, `/proc/PID/fd/3`, also through symbolic links.
///
/// The kernel treats such a path as a link to the open file. A program that replaces or reopens that file does not use
/// the offset and the append mode of the descriptor, and can overwrite what other programs have written.
///
/// proc_pid_fd(5)
struct DescriptorPath: Equatable {
    static let standardOutput = Self(number: 1, isOwn: true)

    let number: Int32
    /// Whether the descriptor belongs to this process.
    let isOwn: Bool

    private init(number: Int32, isOwn: Bool) {
        (self.number, self.isOwn) = (number, isOwn)
    }

    /// - Returns: `nil` if the path does not lead into a folder of descriptors. The descriptor need not be open.
    init?(_ path: String) {
        var path = path
        for _ in 0..<FileSystem.linkLimit {
            let (parent, name) = FileSystem.split(path)
            guard let folder = FileSystem.resolved(parent.isEmpty ? "." : parent) else { return nil }
            if let descriptorPath = Self(name, in: folder) {
                self = descriptorPath
                return
            }
            // `try?` because an unreadable link cannot be followed.
            guard let link = (try? FileSystem.linkText(at: "\(folder)/\(name)")) ?? nil else { return nil }
            path = link.hasPrefix("/") ? link : "\(folder)/\(link)"
        }
        return nil
    }

    /// - Parameter folder: the path without symbolic links; `PROC/PID/fd` and `PROC/PID/task/TID/fd` contain
    ///   descriptors.
    private init?(_ name: String, in folder: String) {
        var parts = folder.split(separator: "/")[...]
        guard let number = Int32(name), number >= 0, String(number) == name, parts.popLast() == "fd", let identifier = parts.popLast()
        else { return nil }
        if parts.last == "task" { parts = parts.dropLast(2) }
        let process = (parts + ["self"]).map { "/\($0)" }.joined()
        guard FileSystem.kind(at: process + "/fd") == .directory else { return nil }
        // All threads of a process share its descriptors.
        self.init(number: number, isOwn: FileSystem.kind(at: "\(process)/task/\(identifier)") == .directory)
    }
}
