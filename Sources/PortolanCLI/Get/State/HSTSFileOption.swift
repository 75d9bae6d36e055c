// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanHSTS

/// The file of `--hsts`: read before the loads, if it exists, and written after them, as curl does.
struct HSTSFileOption {
    /// Without a limit, for the file is the user's.
    let storage = HSTSStorage(limit: .max)
    private let path: String
    private let original: [HSTSStorage.Host]

    init(_ path: String) throws(Failure) {
        self.path = path
        original = FileSystem.kind(at: path) == nil ? [] : try Self.read(path)
        for host in original { storage.set(host) }
        try PartialFile.probe(path)
    }

    private static func read(_ path: String) throws(Failure) -> [HSTSStorage.Host] {
        guard let place = LocalPath(path) else { throw Failure(.unreadable, "--hsts: the name of the file contains a NUL, or is empty") }
        let bytes: [UInt8]
        do throws(LoadError) {
            bytes = try RegularFile(at: place).contents(atMost: HSTSFile.sizeLimit + 1)
        } catch {
            throw Failure(error, message: "--hsts: \(error.phrase)")
        }
        guard bytes.count <= HSTSFile.sizeLimit else {
            throw Failure(.tooLarge, "--hsts: '\(path)' has more than \(HSTSFile.sizeLimit) bytes")
        }
        let (hosts, problems) = HSTSFile.parse(bytes)
        for line in problems.prefix(3) { Diagnostics.warn("--hsts: '\(path)': line \(line) is not a host with its end; it is skipped") }
        if problems.count > 3 { Diagnostics.warn("--hsts: '\(path)': \(problems.count - 3) more lines are no hosts") }
        return hosts
    }

    /// Writes the file if a response has changed something. What other processes have added in the meantime stays.
    func write() throws(Failure) {
        let hosts = storage.allHosts
        guard Set(hosts) != Set(original) else { return }
        let lock = FolderLock(ofFolderWith: path)
        defer { lock?.release() }
        let merged = HSTSStorage(limit: .max)
        if FileSystem.kind(at: path) != nil { for host in try Self.read(path) { merged.set(host) } }
        let (names, known) = (Set(hosts.map(\.name)), Set(original))
        for host in original where !names.contains(host.name) { merged.remove(host.name) }
        for host in hosts where !known.contains(host) { merged.set(host) }
        try PartialFile.write(HSTSFile.bytes(of: merged.allHosts), to: path, isPrivate: true)
    }
}
