// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanFileSystem
import Synchronization

/// Prints the text of `-w` at the end of one load.
final class WriteOut: LoadObserver {
    private struct State {
        var values: WriteOutValues
        var output: (any BodyOutput)?
    }

    private let format: WriteOutFormat
    private let state: Mutex<State>

    /// - Parameters:
    ///   - url: the URL as it was given.
    ///   - number: the position of the URL, from 0.
    init(_ format: WriteOutFormat, url: String, number: Int, timeCondition: TimeCondition? = nil) {
        self.format = format
        state = Mutex(State(values: WriteOutValues(url: url, urlNumber: number, timeCondition: timeCondition)))
    }

    /// Sets where the body of the next attempt goes.
    func setOutput(_ output: any BodyOutput) { state.withLock { $0.output = output } }

    func observe(_ event: LoadEvent, at time: Duration) throws(Failure) {
        switch event {
        case .started(let request, _):
            state.withLock { state in
                (state.values.request, state.values.effectiveURL) = (request, request.url)
                (state.values.response, state.values.headSize, state.values.bodySize, state.values.uploadSize) = (nil, 0, 0, 0)
            }
        case .redirected(let request, let response):
            state.withLock { state in
                (state.values.request, state.values.effectiveURL) = (request, request.url)
                if !response.isHSTSUpgrade { state.values.response = response }
            }
        case .response(let response): state.withLock { ($0.values.response, $0.values.effectiveURL) = (response, response.url) }
        case .sent(let progress): state.withLock { $0.values.uploadSize = progress.bytesSent }
        case .metrics(let metrics, _): state.withLock { $0.values.metrics = metrics }
        case .retrying: state.withLock { $0.values.retryCount += 1 }
        case .finished: try print(after: nil)
        case .failed(let failure): try print(after: failure)
        case .challenged, .nestedLoadBegan, .nestedLoadEnded, .interim, .cache, .trailers, .step: break
        }
    }

    func observe(head: ReceivedHead) {
        state.withLock { state in
            state.values.headSize += head.bytes().count
            // A load can fail before another event reports the response.
            if head.response.status?.kind != .informational { state.values.response = head.response }
        }
    }

    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) {
        let count = Int64(bytes.byteCount)
        state.withLock { $0.values.bodySize += count }
    }

    private func print(after failure: Failure?) throws(Failure) {
        let values = state.withLock { state in
            state.values.failure = failure
            state.values.path = state.output?.path
            return state.values
        }
        var output = Output.standardOutput
        defer { output.close() }
        for piece in format.pieces {
            switch piece {
            case .text(let text): try output.write(text)
            case .variable(let name): try output.write(values.text(of: name) ?? "")
            case .field(let name): try output.write(values.text(ofField: name))
            case .standardOutput: output.change(to: .standardOutput)
            case .standardError: output.change(to: .standardError)
            case .file(let path, let appends): output.change(to: try .file(path, appends: appends))
            case .onError: if failure == nil { return }
            }
        }
    }

    /// Where the text goes.
    private enum Output {
        case standardOutput
        case standardError
        case file(Descriptor, path: String)

        static func file(_ path: String, appends: Bool) throws(Failure) -> Output {
            do throws(SystemError) {
                let file =
                    appends ? try FileSystem.openForAppending(path, followsLinks: true) : try FileSystem.openForReplacing(path)
                return .file(file, path: path)
            } catch {
                throw Failure(.writeFailed, "-w: cannot write '\(path)': \(error)")
            }
        }

        func write(_ text: String) throws(Failure) {
            switch self {
            case .standardOutput: try StandardOutput.write(text)
            case .standardError: Diagnostics.write(text)
            case .file(let file, let path):
                do throws(SystemError) { try file.write(all: Array(text.utf8)) } catch { throw Failure(writing: "'\(path)'", error) }
            }
        }

        mutating func change(to other: Output) {
            close()
            self = other
        }

        func close() {
            // `try?` because the bytes were written.
            if case .file(let file, _) = self { try? file.close() }
        }
    }
}
