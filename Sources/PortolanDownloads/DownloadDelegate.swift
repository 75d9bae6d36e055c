// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

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
