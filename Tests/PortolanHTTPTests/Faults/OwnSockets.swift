// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Counts the IPv4 sockets of this process with one local or remote TCP port.
struct OwnSockets {
    let count: Int

    /// - Parameter port: the port of the local or of the remote end.
    init(port: Int) throws {
        let inodes = try Set(
            String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n").dropFirst().compactMap { line -> Substring? in
                // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
                // (proc_net_tcp)
                let columns = line.split(separator: " ")
                guard columns.count > 9 else { return nil }
                let ports = columns[1...2].compactMap { Int($0.suffix(4), radix: 16) }
                return ports.contains(port) ? columns[9] : nil
            })
        count = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            // `try?` because a descriptor can have been closed in the meantime.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"),
                target.hasPrefix("socket:[")
            else { return false }
            return inodes.contains(target.dropFirst(8).dropLast())
        }
    }
}
