// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem
import PortolanHSTS

/// The hosts of `--hsts`, and their file. The command reads the file before the loads, if it exists, and writes it
/// after them, as curl does.
struct HSTSFileOption {
    /// Has no limit, because the user's file must keep every host.
    let storage = HSTSStorage(limit: .max)
    /// `nil` if the hosts stay in memory.
    private let place: OutputPlace?
    /// The hosts that the file contained before the loads.
    private let originalHosts: [HSTSStorage.Host]

    /// - Parameter place: the file. An empty path keeps the hosts in memory.
    init(_ place: OutputPlace) throws(Failure) {
        guard !place.path.isEmpty else {
            (self.place, originalHosts) = (nil, [])
            return
        }
        self.place = place
        _ = try place.kind.get()
        originalHosts = try Self.hosts(in: place, warns: true)
        for host in originalHosts { storage.set(host) }
        if case .file = try place.kind.get() { try PartialFile.probeForCommand(place.path) }
    }

    /// Returns the hosts of a regular file. A FIFO or a device is not read, and a missing file has no hosts.
    ///
    /// - Parameter warns: whether to warn about malformed lines.
    private static func hosts(in place: OutputPlace, warns: Bool) throws(Failure) -> [HSTSStorage.Host] {
        guard !place.isStream, FileSystem.kind(at: place.path) != nil else { return [] }
        let input = InputFile(option: "--hsts", path: place.path)
        let (hosts, problems) = HSTSFile.parse(try input.wholeContents(limit: HSTSFile.sizeLimit))
        if warns, let first = problems.first {
            let others = problems.count > 1 ? " and \(problems.count - 1) more" : ""
            Diagnostics.warn("--hsts: '\(place.path)': skipped line \(first)\(others): not a host name with its expiry in quotation marks")
        }
        return hosts
    }

    /// Writes the hosts if responses have changed them. Hosts that other processes have added in the meantime stay.
    func write() throws(Failure) {
        let hosts = storage.allHosts
        guard let place, Set(hosts) != Set(originalHosts) else { return }
        guard !place.isStream else { return try place.write(HSTSFile.bytes(of: hosts), isPrivate: true) }
        let lock = FolderLock(ofFolderWith: place.path)
        defer { lock?.release() }
        let merged = HSTSStorage(limit: .max)
        for host in try Self.hosts(in: place, warns: false) { merged.set(host) }
        let (names, originalHostSet) = (Set(hosts.map(\.name)), Set(originalHosts))
        for host in originalHosts where !names.contains(host.name) { merged.remove(host.name) }
        for host in hosts where !originalHostSet.contains(host) { merged.set(host) }
        try place.write(HSTSFile.bytes(of: merged.allHosts), isPrivate: true)
    }

    /// Calls ``write()`` if the hosts are in a regular file.
    func writeChanges() throws(Failure) {
        if place?.isStream == false { try write() }
    }
}
