// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanFileSystem

/// The files of a new plugin.
struct Scaffold {
    struct File: Equatable {
        /// The path relative to the new folder.
        let path: String
        let text: String
        var isExecutable = false
    }

    let files: [File]

    /// Writes the files to a new folder. Removes everything if a file cannot be written.
    func write(to folder: String) throws(Failure) {
        var written: [String] = []
        var folders: [String] = []
        do throws(SystemError) {
            try FileSystem.makeFolder(folder)
            folders.append(folder)
            for file in files {
                let path = "\(folder)/\(file.path)"
                for parent in Self.parents(of: file.path).map({ "\(folder)/\($0)" }) where !folders.contains(parent) {
                    try FileSystem.makeFolder(parent)
                    folders.append(parent)
                }
                let descriptor = try FileSystem.create(path, mode: file.isExecutable ? 0o777 : 0o666)
                written.append(path)
                try descriptor.write(all: Array(file.text.utf8))
                try descriptor.close()
            }
        } catch {
            for path in written { FileSystem.remove(path) }
            for path in folders.reversed() { FileSystem.removeFolder(path) }
            throw error.isExistingFile
                ? Failure(
                    .writeFailed, "'\(folder)' exists and is not overwritten; choose another name, or run the command in another folder")
                : Failure(.writeFailed, "creating '\(folder)' failed: \(error)")
        }
    }

    /// Returns the folders of `a/b/c`: `a`, `a/b`.
    private static func parents(of path: String) -> [String] {
        path.indices.filter { path[$0] == "/" }.map { String(path[..<$0]) }
    }
}
