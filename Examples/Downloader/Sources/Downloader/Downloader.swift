// SPDX-License-Identifier: Apache-2.0

// Downloads a URL into a file, with a progress bar. Control-C stops the download, and the next run continues it:
//
//     swift run Downloader https://example.org/image.iso image.iso
// With `--background`, the download goes on when the program has ended. `--wait` waits for the ends of these downloads.

import Dispatch
import Foundation
import Portolan
import PortolanBackground

@main
struct Downloader {
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            let session = try BackgroundSession(identifier: "org.portolan.Downloader")
            switch arguments.count {
            case 2 where arguments[1] == "--wait": try await wait(for: session)
            case 3: try await download(arguments[1], to: arguments[2])
            case 4 where arguments[1] == "--background":
                try await session.download(Request(arguments[2]), to: URL(filePath: arguments[3]).path)
            default: fail("usage: Downloader [--background] URL FILE, or Downloader --wait", status: 64)
            }
        } catch {
            let hint = (error as? LoadError)?.resumeData == nil ? "" : "; run the command again to continue"
            fail("\((error as? LoadError)?.message ?? "\(error)")\(hint)", status: 1)
        }
    }

    static func download(_ url: String, to path: String) async throws {
        let request = try Request(url)
        // What the last run with this URL has left: saved at its end, or found beside the file if it was killed.
        let record = URL(filePath: path + ".resume")
        let saved = (try? Data(contentsOf: record)).flatMap { try? JSONDecoder().decode(ResumeData.self, from: $0) }
        let data = [saved, ResumeData(interruptedDownloadTo: path)].compactMap(\.self).first { $0.url == request.url.withoutCredentials }
        let end = End()
        let task = try Loader.shared.downloadTask(
            for: request, to: .file(path, partialFile: .always), resuming: data, delegate: end)
        let interrupt = DispatchSource.makeSignalSource(signal: SIGINT)
        signal(SIGINT, SIG_IGN)
        interrupt.setEventHandler { task.cancel() }
        interrupt.resume()
        task.resume()
        for await progress in task.progressUpdates() { show(progress) }
        print()
        switch await end.result() {
        case .success(let file):
            try? FileManager.default.removeItem(at: record)
            print("\(file.path): \(file.size) bytes\(file.resumedBytes > 0 ? ", \(file.resumedBytes) of them from an earlier run" : "")")
            if let reason = file.restartReason { print("loaded from the start: \(reason)") }
        case .failure(let error):
            // `try?` because a full disk must not hide the error. The next run then finds the partial file by itself.
            if let data = error.resumeData { try? JSONEncoder().encode(data).write(to: record) }
            throw error
        }
    }

    static func wait(for session: BackgroundSession) async throws {
        for transfer in try await session.transfers where transfer.state != .needsCredential {
            try await session.receiveEnds { end in
                print("\(end.path): \(end.state), \(end.bytes) bytes\(end.message.map { " (\($0))" } ?? "")")
                return false
            }
        }
    }

    static func show(_ progress: LoadProgress) {
        let fraction = progress.fractionReceived ?? 0
        let bar = String(repeating: "#", count: Int(fraction * 40)).padding(toLength: 40, withPad: ".", startingAt: 0)
        let rate = Int((progress.bytesPerSecond ?? 0) / 1024)
        let left = progress.timeLeft.map { ", \($0.components.seconds) s left" } ?? ""
        print("\r[\(bar)] \(Int(fraction * 100)) % of \(progress.expectedBytesToWrite ?? 0), \(rate) KiB/s\(left)   ", terminator: "")
        fflush(nil)
    }

    static func fail(_ message: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("Downloader: \(message)\n".utf8))
        exit(status)
    }
}

/// Receives the end of a download.
final class End: DownloadDelegate {
    private let (stream, continuation) = AsyncStream.makeStream(of: Result<DownloadedFile, LoadError>.self)

    func loadTask(_ task: LoadTask, didDownloadTo file: DownloadedFile) { continuation.yield(.success(file)) }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        if let error { continuation.yield(.failure(error)) }
        continuation.finish()
    }

    func result() async -> Result<DownloadedFile, LoadError> {
        for await result in stream { return result }
        return .failure(LoadError(.unknown, message: "the download has ended without a result"))
    }
}
