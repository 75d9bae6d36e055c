// SPDX-License-Identifier: Apache-2.0

/// A path that names an open descriptor: `/dev/stdout`, `/dev/fd/3`, `/proc/PID/fd/3`, also through symbolic links.
///
/// To the kernel such a path is a link to the file behind the descriptor. A program that replaced that file, or opened it anew, would
/// miss the descriptor: its offset, its append mode, and the contents that others have written.
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

    /// - Returns: `nil` where the path leads to no folder of descriptors. The descriptor itself need not be open.
    init?(_ path: String) {
        var path = path
        for _ in 0..<FileSystem.linkLimit {
            let (parent, name) = FileSystem.split(path)
            guard let folder = FileSystem.resolved(parent.isEmpty ? "." : parent) else { return nil }
            if let found = Self(name, in: folder) {
                self = found
                return
            }
            // `try?` because a link that can't be read is none that could be followed.
            guard let link = (try? FileSystem.linkText(at: "\(folder)/\(name)")) ?? nil else { return nil }
            path = link.hasPrefix("/") ? link : "\(folder)/\(link)"
        }
        return nil
    }

    /// - Parameter folder: without symbolic links; `PROC/PID/fd` and `PROC/PID/task/TID/fd` hold descriptors.
    private init?(_ name: String, in folder: String) {
        var parts = folder.split(separator: "/")[...]
        guard let number = Int32(name), number >= 0, String(number) == name, parts.popLast() == "fd", let identifier = parts.popLast()
        else { return nil }
        if parts.last == "task" { parts = parts.dropLast(2) }
        let process = (parts + ["self"]).map { "/\($0)" }.joined()
        guard FileSystem.kind(at: process + "/fd") == .directory else { return nil }
        // All threads of a process have the same descriptors.
        self.init(number: number, isOwn: FileSystem.kind(at: "\(process)/task/\(identifier)") == .directory)
    }
}
