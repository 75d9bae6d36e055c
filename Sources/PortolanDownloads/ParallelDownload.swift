// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import Synchronization

/// A download that loads several parts of a file at the same time, each with a range request.
///
/// The first request asks for the first part. Its response has the size of the file and its version (the validator).
/// The other requests ask for the rest of this version. All bytes go to their places in one partial file.
///
/// RFC 9110 §14
final class ParallelDownload: Sendable {
    /// One range of the file.
    private struct Part {
        let range: Range<Int64>
        /// The number of bytes of the range that were written, from its start on.
        var written: Int64 = 0
    }

    /// The version of the file that all parts must have.
    private struct Version {
        let validator: String
        let size: Int64
    }

    private let loader: Loader
    private let request: Request
    private let destination: DownloadDestination
    private let delegate: (any LoadDelegate)?
    private let writer: DownloadWriter
    private let parts = Mutex<[Part]>([])

    /// The size of the first part, and the smallest size of the others if there are several, in bytes.
    static let smallestPart: Int64 = 1 << 20

    init(_ request: Request, to destination: DownloadDestination, by loader: Loader, _ delegate: (any LoadDelegate)?) {
        (self.loader, self.destination, self.delegate) = (loader, destination, delegate)
        var request = request
        if !request.fields.contains(.acceptEncoding) { request.fields[.acceptEncoding] = "identity" }
        self.request = request
        writer = DownloadWriter(
            loader.requestForResumeData(request), to: destination, resuming: nil, restartReason: nil, writesParts: true,
            delegate: nil)
    }

    /// - Parameter count: the largest number of requests at the same time.
    func run(requests count: Int) async throws(LoadError) -> DownloadedFile {
        let first = 0..<Self.smallestPart
        let (chunks, response) = try await loader.bytes(for: request(for: first, of: nil), delegate: delegate)
        // The server sends the whole file, or an error.
        guard [206, 416].contains(ResumedPart.status(of: response)) else {
            return try await chunks.download(for: response, to: destination, requestedBy: request)
        }
        guard ResumedPart.status(of: response) == 206, let range = ContentRange(in: response.fields), let size = range.size,
            range.bytes == first.clamped(to: 0..<size),
            let validator = ResumedPart.validator(of: response, now: Int64(Date().timeIntervalSince1970))
        else {
            // The response is of no use: it has no strong validator, or other bytes, or it is a 416.
            let (whole, response) = try await loader.bytes(for: request, delegate: delegate)
            return try await whole.download(for: response, to: destination, requestedBy: request)
        }
        let version = Version(validator: validator, size: size)
        let task = chunks.task
        let flow = await onDeliveryThread { [self] in
            writer.loadTask(task, didReceive: Self.wholeResponse(response, size: size))
        }
        var failure: LoadError?
        if flow == .keepGoing {
            let ranges = Self.split(0..<size, into: count)
            parts.withLock { $0 = ranges.map { Part(range: $0) } }
            failure = await load(ranges, of: version, firstBody: chunks)
        } else {
            task.cancel()
        }
        let outcome = await onDeliveryThread { [self, failure] in
            writer.endParts(prefix: contiguousByteCount, isComplete: failure == nil)
            writer.loadTask(task, didEndWith: failure)
            return writer.endedOutcome
        }
        return try outcome.get()
    }

    /// The first part, and at most `count` others. If there are several others, each has at least ``smallestPart``
    /// bytes.
    static func split(_ file: Range<Int64>, into count: Int) -> [Range<Int64>] {
        let first = file.lowerBound..<min(file.upperBound, smallestPart)
        let rest = Int64(file.count) - Int64(first.count)
        let number = min(Int64(max(1, count)), max(rest / smallestPart, rest > 0 ? 1 : 0))
        guard number > 0 else { return [first] }
        let starts = (0..<number).map { first.upperBound + rest / number * $0 }
        return [first] + zip(starts, starts.dropFirst() + [file.upperBound]).map { $0..<$1 }
    }

    /// The response for the whole file, from that for its first part.
    private static func wholeResponse(_ response: Response, size: Int64) -> Response {
        var whole = response
        if whole.status != nil {
            whole.status = .ok
            whole.fields[.contentLength] = "\(size)"
        }
        whole.fields[.contentRange] = nil
        whole.expectedLength = size
        return whole
    }

    private func request(for range: Range<Int64>, of version: Version?) -> Request {
        var request = request
        request.fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        if let version { request.fields[.ifRange] = version.validator }
        return request
    }

    /// Loads all parts at the same time. After a failure, the other parts are cancelled.
    ///
    /// - Returns: the first failure.
    private func load(_ ranges: [Range<Int64>], of version: Version, firstBody: ByteChunks) async -> LoadError? {
        await withTaskGroup(of: LoadError?.self) { group in
            for index in ranges.indices {
                group.addTask { [self] in
                    do throws(LoadError) {
                        let body = index == 0 ? firstBody : try await body(of: ranges[index], version)
                        try await write(body, firstBody.task, index, ranges[index])
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            var failure: LoadError?
            for await result in group {
                guard failure == nil, let result else { continue }
                failure = result
                group.cancelAll()
            }
            return failure
        }
    }

    private func body(of range: Range<Int64>, _ version: Version) async throws(LoadError) -> ByteChunks {
        let (body, response) = try await loader.bytes(for: request(for: range, of: version), delegate: delegate)
        guard ResumedPart.status(of: response) == 206 else {
            let status = response.status.map { "\($0.code) \($0.reasonPhrase)" } ?? "the whole file"
            throw LoadError(
                LoadError.Code(ofRefusal: response.status?.code),
                message:
                    "\(request.url.shortDescription) was not downloaded: the response for bytes \(range.lowerBound) to \(range.upperBound - 1) is \(status)"
            )
        }
        guard ContentRange(in: response.fields) == ContentRange(range, of: version.size),
            ResumedPart.mayHaveVersion(version.validator, response)
        else {
            throw LoadError(
                .badResponse,
                message:
                    "\(request.url.shortDescription) was not downloaded: the server sends bytes of another version, or others than \(range.lowerBound) to \(range.upperBound - 1)"
            )
        }
        return body
    }

    private func write(_ body: ByteChunks, _ task: LoadTask, _ index: Int, _ range: Range<Int64>) async throws(LoadError) {
        var offset = range.lowerBound
        for try await piece in body {
            guard Int64(piece.count) <= range.upperBound - offset else {
                throw LoadError(.badResponse, message: "the server sends more bytes than its Content-Range has")
            }
            let place = offset
            if let error = await onDeliveryThread({ [writer] in unsafe writer.write(piece.span.bytes, at: place) }) { throw error }
            offset += Int64(piece.count)
            let total = parts.withLock { parts in
                parts[index].written += Int64(piece.count)
                return parts.reduce(0) { $0 + $1.written }
            }
            task.recordWritten(total, expected: parts.withLock { $0.last?.range.upperBound })
        }
        guard offset == range.upperBound else {
            throw LoadError(
                .truncated,
                message:
                    "\(range.upperBound - offset) of the bytes \(range.lowerBound) to \(range.upperBound - 1) are missing, and the server sent no more"
            )
        }
    }

    /// The number of bytes before the first gap.
    private var contiguousByteCount: Int64 {
        parts.withLock { parts in
            guard let incomplete = parts.first(where: { $0.written < $0.range.count }) else { return parts.last?.range.upperBound ?? 0 }
            return incomplete.range.lowerBound + incomplete.written
        }
    }
}
