// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
package import PortolanFileSystem

/// Receives the events of a download, except the response and the data. Instead, it chooses the destination and
/// receives the file.
public protocol DownloadDelegate: LoadDelegate {
    /// Chooses the destination. The task calls this method when a successful response arrives.
    /// ``Response/suggestedFilename`` is the suggested name.
    ///
    /// The task does not call this method if it uses the partial file of an earlier download. If that file is gone or
    /// of no use, the task makes a new file and calls this method.
    ///
    /// - Parameter proposed: the destination that the caller gave.
    /// - Returns: the destination. By default, `proposed`.
    func loadTask(_ task: LoadTask, destinationFor response: Response, proposed: DownloadDestination) -> DownloadDestination

    /// The file is complete. The task calls this method before ``LoadDelegate/loadTask(_:didEndWith:)``.
    func loadTask(_ task: LoadTask, didDownloadTo file: DownloadedFile)
}

extension DownloadDelegate {
    public func loadTask(_ task: LoadTask, destinationFor response: Response, proposed: DownloadDestination) -> DownloadDestination {
        proposed
    }
    public func loadTask(_ task: LoadTask, didDownloadTo file: DownloadedFile) {}
}

/// A download delegate that also receives two internal events. The task makes both calls on the delegate's queue,
/// before the delegate's ``LoadDelegate/loadTask(_:didEndWith:)``.
package protocol DownloadObserver: DownloadDelegate {
    /// The file is complete and will be renamed to its final name. The rename keeps the inode. After a crash, the
    /// program can identify the file by it.
    func downloadWillRename(_ file: PartialFile)

    /// The response has an error status, or a range that was not requested. The download fails.
    func downloadDidReceiveErrorResponse(_ response: Response)
}
