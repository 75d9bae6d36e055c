// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
package import PortolanFileSystem

/// Receives the events of a download. Instead of the response and the data, it is asked for the destination, and
/// receives the file.
public protocol DownloadDelegate: LoadDelegate {
    /// The response has arrived. Its suggested name is ``Response/suggestedFilename``.
    ///
    /// Not called for a download that continues an earlier one, because its partial file already has a place.
    ///
    /// - Parameter proposed: the destination with which the download was made.
    /// - Returns: the destination. By default, `proposed`.
    func loadTask(_ task: LoadTask, destinationFor response: Response, proposed: DownloadDestination) -> DownloadDestination

    /// The file is complete. Called before ``LoadDelegate/loadTask(_:didEndWith:)``.
    func loadTask(_ task: LoadTask, didDownloadTo file: DownloadedFile)
}

extension DownloadDelegate {
    public func loadTask(_ task: LoadTask, destinationFor response: Response, proposed: DownloadDestination) -> DownloadDestination {
        proposed
    }
    public func loadTask(_ task: LoadTask, didDownloadTo file: DownloadedFile) {}
}

/// A delegate that keeps a journal of its downloads. Both calls come before the end of the load, on its queue.
package protocol DownloadObserver: DownloadDelegate {
    /// The file is complete, and is about to get its name. If the program is killed, the file has the same inode before
    /// and after that.
    func downloadWillMove(_ file: PartialFile)

    /// The response does not contain the file.
    func downloadDidRefuse(_ response: Response)
}
