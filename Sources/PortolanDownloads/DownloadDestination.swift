// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Where a download writes, and what it does with existing and incomplete files.
public struct DownloadDestination: Hashable, Sendable {
    /// What to do if a file with the name exists when the download is complete.
    public enum ExistingFile: Hashable, Sendable {
        /// The new file replaces it, and gets its owner, permissions and extended attributes.
        case replace
        /// The download fails with ``LoadError/Code/ioFailed``. The check is made before the first byte is written and
        /// again at the end.
        case fail
        /// The new file gets the first free name of `name.1`, `name.2`, …
        case keepBoth
    }

    /// When an incomplete download keeps the file with the bytes that have arrived. A later download can continue this
    /// file (``ResumeData``).
    ///
    /// A file that can't be continued, because the server has sent no strong validator, is always removed.
    public enum PartialFileRetention: Hashable, Sendable {
        /// Never, except after ``LoadTask/cancel(byProducingResumeData:)``.
        case never
        /// After a failure, but not after ``LoadTask/cancel()``.
        case afterFailure
        case always
    }

    enum Place: Hashable, Sendable {
        case file(String)
        case folder(String)
    }

    let place: Place
    public var existingFile: ExistingFile
    public var partialFile: PartialFileRetention

    private init(_ place: Place, _ existingFile: ExistingFile, _ partialFile: PartialFileRetention) {
        (self.place, self.existingFile, self.partialFile) = (place, existingFile, partialFile)
    }

    /// The file with this path, relative to the current folder. Its folder must exist.
    public static func file(
        _ path: String, existingFile: ExistingFile = .replace, partialFile: PartialFileRetention = .afterFailure
    ) -> Self {
        Self(.file(path), existingFile, partialFile)
    }

    /// A file in this folder, with the name that the response suggests (``Response/suggestedFilename``). A dot at the
    /// start of the name becomes `_`, so that no server can write a hidden file.
    public static func folder(
        _ path: String, existingFile: ExistingFile = .keepBoth, partialFile: PartialFileRetention = .afterFailure
    ) -> Self {
        Self(.folder(path), existingFile, partialFile)
    }

    /// The path of the file for a response.
    func path(for response: Response) -> String {
        switch place {
        case .file(let path): return path
        case .folder(let folder):
            let name = response.suggestedFilename
            return Self.path(of: name.hasPrefix(".") ? "_\(name.dropFirst())" : name, in: folder)
        }
    }

    /// The path of the file to which a partial file belongs; `nil` if the destination is a folder, and `name` is not
    /// the name of a partial file.
    func path(ofPartialFile name: String) -> String? {
        switch place {
        case .file(let path): return path
        case .folder(let folder):
            // `.NAME.0123456789abcdef.part`
            let ending = 1 + 16 + ".part".utf8.count
            guard name.hasPrefix("."), name.utf8.count > 1 + ending, !name.utf8.contains(UInt8(ascii: "/")) else { return nil }
            let finalName = String(decoding: Array(name.utf8.dropFirst().dropLast(ending)), as: UTF8.self)
            return finalName.hasPrefix(".") ? nil : Self.path(of: finalName, in: folder)
        }
    }

    private static func path(of name: String, in folder: String) -> String {
        folder.isEmpty || folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
    }
}

/// A file that a download has written.
public struct DownloadedFile: Sendable {
    /// The path of the file. With ``DownloadDestination/ExistingFile/keepBoth``, its name can have a number at its end.
    public let path: String
    /// The last response. If the download has continued an earlier one, its status is 206 or 416.
    public let response: Response
    /// The size of the file in bytes.
    public let size: Int64
    /// The number of bytes that were received by earlier downloads; 0 if all bytes are from this one.
    public let resumedBytes: Int64
    /// Why the bytes of an earlier download were not used, as a sentence without a period; `nil` if they were used, or
    /// if there were none.
    public let restartReason: String?
    /// What the file does not have of the file that it replaces, as sentences without a period: an owner or permissions
    /// that the program may not set, or other names (hard links), which still name the old file.
    public let warnings: [String]
}
