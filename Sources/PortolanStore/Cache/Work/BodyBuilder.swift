// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCache
    import PortolanCore

    /// The body of a response that is being written: in memory, or in a file if it is large. Only the writing
    /// thread uses it.
    final class BodyBuilder {
        /// The largest body that is stored in the index, in bytes.
        static let smallLimit: Int64 = 16 << 10

        /// The identifier of the entry and its file; 0 until room for the file is reserved.
        private(set) var id: Int64 = 0
        /// The number of octets that the index has reserved for the file.
        private(set) var reserved: Int64 = 0
        private(set) var buffer: [UInt8] = []
        private(set) var checksums: [UInt64] = []
        /// The number of octets in the file.
        private var fileLength: Int64 = 0
        private var file: BodyFile?
        private let worker: CacheWorker
        private let opening: CacheOpening

        init(_ worker: CacheWorker, _ opening: CacheOpening) { (self.worker, self.opening) = (worker, opening) }

        var hasFile: Bool { file != nil }
        var length: Int64 { fileLength + Int64(buffer.count) }

        /// The number of octets that a body takes up on disk.
        static func cost(_ length: Int64, hasFile: Bool) -> Int64 { hasFile ? (length + 4095) / 4096 * 4096 : length }

        /// - Returns: `false` if the body is too large, or there is no room.
        func append(_ octets: borrowing RawSpan) throws(StoreError) -> Bool {
            guard Int64(octets.byteCount) <= worker.core.entryLimit - length else { return false }
            var start = 0
            while start < octets.byteCount {
                let count = min(octets.byteCount - start, BodyLayout.blockSize - buffer.count)
                let piece = octets.extracting(start..<start + count)
                start += count
                if count == BodyLayout.blockSize {
                    guard try writeBlock(piece) else { return false }
                    continue
                }
                if buffer.isEmpty { buffer.reserveCapacity(min(BodyLayout.blockSize, octets.byteCount)) }
                unsafe piece.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
                if buffer.count == BodyLayout.blockSize, try !writeBuffer() { return false }
            }
            return true
        }

        private func writeBuffer() throws(StoreError) -> Bool {
            let octets = buffer
            buffer.removeAll(keepingCapacity: true)
            return try writeBlock(unsafe octets.span.bytes)
        }

        private func writeBlock(_ octets: borrowing RawSpan) throws(StoreError) -> Bool {
            let end = fileLength + Int64(octets.byteCount)
            guard try reserve(Self.cost(end, hasFile: true)) else { return false }
            if file == nil { file = try BodyFile.created(worker.core.folder.bodyPath(id)) }
            try file?.write(octets, at: fileLength)
            checksums.append(Checksum.of(copy octets, seed: BodyLayout.seed(id, checksums.count)))
            fileLength = end
            return true
        }

        /// Writes the rest, unless the body is small.
        ///
        /// - Returns: `false` if there is no room.
        func finish() throws(StoreError) -> Bool {
            guard hasFile || length > Self.smallLimit, !buffer.isEmpty else { return true }
            return try writeBuffer()
        }

        /// Makes sure that the index has reserved `count` octets for the file.
        ///
        /// - Returns: `false` if there is no room.
        func reserve(_ count: Int64) throws(StoreError) -> Bool {
            guard count > reserved else { return true }
            // If the length is not known, room is reserved in large steps.
            let step = min(max(reserved, 1 << 20), 8 << 20)
            let expected = min(opening.expectedLength ?? reserved + step, worker.core.entryLimit)
            let wanted = max(count, Self.cost(expected, hasFile: true))
            guard let new = try worker.reserve(wanted, for: id) else { return false }
            (id, reserved) = (new, wanted)
            return true
        }
    }
#endif
