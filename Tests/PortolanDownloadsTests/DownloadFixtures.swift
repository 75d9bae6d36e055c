// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanTestSupport

@testable import PortolanDownloads

extension TemporaryFolder {
    func contents(of name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path(of: name)))) }

    /// Also the hidden names, in lexical order.
    var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }
}

/// Returns the error of a download; `nil` if it is complete.
func downloadFailure(_ body: () async throws(LoadError) -> Void) async -> LoadError? {
    do throws(LoadError) {
        try await body()
        return nil
    } catch {
        return error
    }
}

extension FileOrigin {
    /// Starts a download whose connection is lost, and returns its resume data.
    func interruptedDownload(to destination: DownloadDestination, after count: Int) async -> ResumeData? {
        change { $0.cut = count }
        defer { change { $0.cut = nil } }
        return await downloadFailure { () throws(LoadError) in try await loader.download(from: Self.url, to: destination) }?.resumeData
    }

    @discardableResult
    func continuedDownload(to destination: DownloadDestination, _ data: ResumeData) async throws(LoadError) -> DownloadedFile {
        try await loader.download(for: Request(Self.url), to: destination, resuming: data)
    }
}

/// Calls a function when bytes are in the partial file.
final class ByteObserver: DownloadDelegate {
    private let didReceiveBytes: @Sendable (LoadTask) -> Void

    init(_ didReceiveBytes: @escaping @Sendable (LoadTask) -> Void) { self.didReceiveBytes = didReceiveBytes }

    func loadTaskDidReceiveBytes(_ task: LoadTask) { didReceiveBytes(task) }
}
