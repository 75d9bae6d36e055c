// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCache
    import PortolanCore
    import Synchronization

    /// The body of an entry on disk: octets that were read from the index and verified, or a file.
    final class DiskCacheBody: CacheBody {
        private let id: CacheEntry.ID
        private let layout: BodyLayout
        private let octets: [UInt8]?
        private let core: DiskCacheCore

        var ranges: ByteRangeSet { layout.ranges }

        /// - Parameter octets: those of a small body; `nil` if they are in a file.
        init(_ id: CacheEntry.ID, _ layout: BodyLayout, _ octets: [UInt8]?, _ core: DiskCacheCore) {
            (self.id, self.layout, self.octets, self.core) = (id, layout, octets, core)
        }

        func makeReader(of range: Range<Int64>) -> any CacheBodyReader {
            if range.isEmpty { return SmallBodyReader([]) }
            guard let stored = layout.storedRange(of: range) else {
                return SmallBodyReader(
                    [], LoadError(.ioFailed, message: "the stored response does not have the bytes \(range); load it from its source"))
            }
            if let octets { return SmallBodyReader(octets[Int(stored.lowerBound)..<Int(stored.upperBound)]) }
            let reader = FileBodyReader(id.rawValue, layout, stored, core)
            reader.start()
            return reader
        }
    }

    /// Reads octets that are in memory.
    private final class SmallBodyReader: CacheBodyReader {
        private let rest: Mutex<ArraySlice<UInt8>>
        private let error: LoadError?

        init(_ octets: ArraySlice<UInt8>, _ error: LoadError? = nil) {
            rest = Mutex(octets)
            self.error = error
        }

        func read(
            atMost limit: Int, _ receive: (borrowing RawSpan) -> Void, whenReady: @escaping @Sendable () -> Void
        ) -> BodyRead {
            if let error { return .failed(error) }
            let next = rest.withLock { rest in
                let next = rest.prefix(limit)
                rest = rest.dropFirst(limit)
                return next
            }
            if next.isEmpty { return .end }
            unsafe receive(next.span.bytes)
            return .bytes
        }

        func close() {}
    }
#endif
