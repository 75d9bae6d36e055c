// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanFileSystem

/// Where a download writes, and what it does with existing and incomplete files.
public struct DownloadDestination: Hashable, Sendable {
    /// What to do if a file with the name exists when the download is complete.
    public enum ExistingFile: Hashable, Sendable {
        /// The new file replaces it, and gets its owner, permissions and extended attributes, but not the setuid and
        /// setgid bits.
        case replace
        /// The download fails with ``LoadError/Code/ioFailed``. The check is made before the first byte is written and
        /// again at the end.
        case fail
        /// The new file gets the first free name of `name.1`, `name.2`, … A long name is shortened before the number.
        case keepBoth
    }

    /// When an incomplete download keeps the file with the bytes that have arrived. A later download can continue this
    /// file (``ResumeData``).
    ///
    /// A file that can't be continued, because the server has sent no strong validator, is always removed. A download
    /// that continues an earlier one, and ends before its response, always keeps the bytes of the earlier one.
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
            return Self.path(of: FileSystem.visibleName(response.suggestedFilename), in: folder)
        }
    }

    /// The path of the file to which resume data belongs; `nil` if the data is not for this destination.
    func path(for data: ResumeData) -> String? {
        switch place {
        case .file(let path): return path
        case .folder(let folder):
            let name = data.finalName
            return name.isEmpty || name.utf8.first == UInt8(ascii: ".") ? nil : Self.path(of: name, in: folder)
        }
    }

    private static func path(of name: String, in folder: String) -> String {
        folder.isEmpty || folder.utf8.last == UInt8(ascii: "/") ? folder + name : "\(folder)/\(name)"
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
    /// The properties of the replaced file that the new file does not have, as sentences without a period: an owner or
    /// permissions that the program may not set, or other names (hard links), which still refer to the old file.
    public let warnings: [String]
}
